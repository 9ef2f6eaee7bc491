"""ResNet: deep networks of residual blocks.

He et al. 2016, "Deep Residual Learning for Image Recognition", arXiv 1512.03385: five networks
for ImageNet (table 1), those for CIFAR-10 (section 4.2), and plain ones of the same shape.
Departure: a bottleneck's stride is on its 3x3 convolution, as in Torch's and torchvision's
networks, which is more accurate; the paper's place, the first 1x1, is a setting. The mean over
the last maps is taken at any size, so that images of every size come through.
"""

from typing import Annotated, Literal

import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.convolutional.unit import ConvolutionUnit
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
_EXPANSION = 4  # how much wider a bottleneck ends than it is inside


@settings
class ResNetConfig(ImageNetworkConfig):
    """Configuration of a residual network."""

    architecture: Literal["resnet"] = "resnet"
    """Network architecture."""
    blocks: Annotated[tuple[Size, ...], Field(min_length=1)] = (3, 4, 6, 3)
    """Number of blocks in each stage; every stage but the first halves the size."""
    width: Size = 64
    """Channels of the first stage; each later stage doubles them."""
    bottleneck: bool = True
    """Bottleneck blocks (1x1, 3x3, 1x1, four times as wide at the end) instead of basic blocks
    (two 3x3).
    """
    stem: Literal["imagenet", "cifar"] = "imagenet"
    """imagenet: 7x7 convolution at stride 2 and max pooling; cifar: 3x3 at stride 1, for small
    images.
    """
    residual: bool = True
    """Use residual connections; false gives a plain network of the same shape."""
    shortcut: Literal["A", "B", "C"] = "B"
    """Shortcut where the shape changes: zero padding (A), projection (B), or projections
    everywhere (C).
    """
    stride_on: Literal["3x3", "1x1"] = "3x3"
    """Convolution of a bottleneck that has stride 2; the paper uses the first 1x1."""
    zero_last: bool = False
    """Initialise the last norm of each block to zero, so that blocks start as the identity (Goyal
    et al. 2017).
    """

    @model_validator(mode="after")
    def _only_shortcuts_begin_alone(self) -> "ResNetConfig":
        if self.zero_last and not self.residual:
            raise ValueError("zero_last needs residual: a plain network would output nothing")
        return self


def _cifar(depth: int) -> ResNetConfig:
    """Section 4.2: depth 6n + 2, three stages of n blocks, 16, 32 and 64 maps, option A."""
    return ResNetConfig(
        classes=10,
        image_size=32,
        blocks=((depth - 2) // 6,) * 3,
        width=16,
        bottleneck=False,
        stem="cifar",
        shortcut="A",
    )


VARIANTS = {
    "resnet-18": ResNetConfig(blocks=(2, 2, 2, 2), bottleneck=False),
    "resnet-34": ResNetConfig(blocks=(3, 4, 6, 3), bottleneck=False),
    "resnet-50": ResNetConfig(blocks=(3, 4, 6, 3)),
    "resnet-101": ResNetConfig(blocks=(3, 4, 23, 3)),
    "resnet-152": ResNetConfig(blocks=(3, 8, 36, 3)),
    "plain-18": ResNetConfig(blocks=(2, 2, 2, 2), bottleneck=False, residual=False),
    "plain-34": ResNetConfig(blocks=(3, 4, 6, 3), bottleneck=False, residual=False),
    **{f"resnet-cifar-{depth}": _cifar(depth) for depth in (20, 32, 44, 56, 110)},
}


class ResNet(ImageNetwork):
    """A stem, stages of blocks, the mean of every map, and one linear layer."""

    head = "classifier"

    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = build_stem(config)
        expansion = _EXPANSION if config.bottleneck else 1
        inputs, stages = config.width, []
        for number, count in enumerate(config.blocks):
            width = config.width * 2**number
            blocks = []
            for place in range(count):
                stride = 2 if number > 0 and place == 0 else 1
                blocks.append(ResidualBlock(config, inputs, width, stride))
                inputs = width * expansion
            stages.append(nn.Sequential(*blocks))
        self.body = nn.Sequential(*stages)
        self.classifier = nn.Linear(inputs, config.classes)
        initialize(self, config.zero_last)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        return self.maps(images).mean((2, 3))

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F, H', W')"""
        maps: Tensor = self.body(self.stem(images))
        return maps

    def stages(self) -> list[nn.Module]:
        return [self.stem, *self.body]


class ResidualBlock(nn.Module):
    """y = ReLU(F(x) + x), or with a projection of x where its shape differs (equations 1, 2)."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        if config.bottleneck:
            outputs = width * _EXPANSION
            first, second = (stride, 1) if config.stride_on == "1x1" else (1, stride)
            self.residual = nn.Sequential(
                ConvolutionUnit(inputs, width, 1, first),
                ConvolutionUnit(width, width, 3, second),
                ConvolutionUnit(width, outputs, 1, rectified=False),
            )
        else:
            outputs = width
            self.residual = nn.Sequential(
                ConvolutionUnit(inputs, width, 3, stride),
                ConvolutionUnit(width, width, 3, rectified=False),
            )
        self.shortcut = _build_shortcut(config, inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H/stride, W/stride)"""
        added: Tensor = self.residual(x)
        if self.shortcut is not None:
            added = added + self.shortcut(x)
        return F.relu(added, inplace=True)


class PaddedShortcut(nn.Module):
    """Option A: every stride-th pixel, and zeros for the maps that are new; no parameters."""

    def __init__(self, new_maps: int, stride: int) -> None:
        super().__init__()
        self.new_maps = new_maps
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C + new, H/stride, W/stride)"""
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.new_maps))


def _build_shortcut(
    config: ResNetConfig, inputs: int, outputs: int, stride: int
) -> nn.Module | None:
    """What a block's input takes to its output; None in a plain network."""
    changes = stride > 1 or inputs != outputs
    if not config.residual:
        return None
    if config.shortcut == "C" or (config.shortcut == "B" and changes):
        return ConvolutionUnit(inputs, outputs, 1, stride, rectified=False)
    return PaddedShortcut(outputs - inputs, stride) if changes else nn.Identity()


def build_stem(config: ResNetConfig) -> nn.Module:
    """What makes an image the first stage's input."""
    if config.stem == "cifar":
        return ConvolutionUnit(config.channels, config.width, 3)
    stem = ConvolutionUnit(config.channels, config.width, 7, 2)
    stem.add_module("pool", nn.MaxPool2d(3, 2, 1))
    return stem


def initialize(network: nn.Module, zero_last: bool) -> None:
    """Convolutions as He et al. 2015, arXiv 1502.01852: gradients keep their size through ReLUs."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_last and isinstance(module, ResidualBlock):
            last = module.residual[-1].get_submodule("norm")
            assert isinstance(last, nn.BatchNorm2d)
            nn.init.zeros_(last.weight)
