"""The highway network for images: gated convolutions that may carry their input on unchanged.

Srivastava, Greff and Schmidhuber 2015, "Highway Networks", arXiv 1505.00387, and "Training Very
Deep Networks", arXiv 1507.06228: y = H(x) T(x) + x (1 - T(x)) with convolutions for H and T. The
papers give depths (11, 19, 32) and rounded counts of parameters (236K, 1.4M, 1.25M), not the
channels: the variants come near these counts. A stage begins with a plain convolution that changes
the number of channels, which a highway cannot, and ends with pooling. Departing from the papers,
the mean of each map takes the place of dense layers.

Weights begin as in He et al. 2015, arXiv 1502.01852, and gates nearly closed (bias -2), as in the
paper, so that a deep stack begins by carrying its input.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.block import ConvolutionLayer, run
from landmark.models.convolutional.shape import check_size
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]


@settings
class HighwayConfig(ImageNetworkConfig):
    """Configuration of a highway network, or of a plain one of the same depth."""

    architecture: Literal["highway"] = "highway"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    image_size: Size = 32
    """Image height and width in pixels."""
    depths: Annotated[tuple[Size, ...], Field(min_length=1)] = (6, 6, 6)
    """Convolutions in each stage; max pooling between stages halves the size."""
    widths: Annotated[tuple[Size, ...], Field(min_length=1)] = (32, 64, 96)
    """Channels in each stage."""
    gated: bool = True
    """Use the gates; false gives a plain network of the same depth."""
    gate_bias: float = -2.0
    """Initial bias of the transform gate: lower values carry more of a layer's input through."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout probability after each stage."""

    @model_validator(mode="after")
    def _every_stage_has_a_width(self) -> "HighwayConfig":
        if len(self.depths) != len(self.widths):
            raise ValueError(
                f"depths has {len(self.depths)} stages and widths {len(self.widths)}: "
                "give each stage both"
            )
        return self


VARIANTS: dict[str, HighwayConfig] = {
    "highway-11": HighwayConfig(depths=(3, 3, 4), widths=(16, 32, 56)),
    "highway-19": HighwayConfig(),
    "highway-32": HighwayConfig(depths=(11, 10, 10), widths=(32, 48, 64)),
}


class HighwayConvolution(nn.Module):
    """y = H(x) T(x) + x (1 - T(x)), H(x) = ReLU(W * x + b), T(x) = sigmoid(W_T * x + b_T)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.transform = nn.Conv2d(channels, channels, 3, padding=1)
        self.gate = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)"""
        opened = torch.sigmoid(self.gate(x))
        return torch.lerp(x, self.transform(x).relu(), opened)


class HighwayNetwork(ImageNetwork):
    """Stages of highway convolutions, then the mean of each map and a linear layer."""

    head = "output"

    def __init__(self, config: HighwayConfig) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.blocks = nn.ModuleList(_stage(config, index) for index in range(len(config.depths)))
        self.output = nn.Linear(config.widths[-1], config.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, HighwayConvolution):
                assert module.gate.bias is not None
                nn.init.constant_(module.gate.bias, config.gate_bias)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, widths[-1])"""
        return self.maps(images).mean((-2, -1))

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, widths[-1], H', W')"""
        return run(self.blocks, images)

    def stages(self) -> list[nn.Module]:
        return list(self.blocks)

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        """Each stage but the last halves the side."""
        assert isinstance(config, HighwayConfig)
        return int(2 ** (len(config.depths) - 1))


def _stage(config: HighwayConfig, index: int) -> nn.Sequential:
    inputs, width = (config.channels, *config.widths)[index : index + 2]
    layers: list[nn.Module] = [ConvolutionLayer(inputs, width, 3, padding=1)]
    for _ in range(config.depths[index] - 1):
        if config.gated:
            layers.append(HighwayConvolution(width))
        else:
            layers.append(ConvolutionLayer(width, width, 3, padding=1))
    if index < len(config.depths) - 1:
        layers.append(nn.MaxPool2d(2))
    if config.dropout:
        layers.append(Dropout(config.dropout))
    return nn.Sequential(*layers)
