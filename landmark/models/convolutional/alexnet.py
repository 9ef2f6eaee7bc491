"""AlexNet: five convolutions and three dense layers, in two towers.

Krizhevsky et al. 2012, "ImageNet Classification with Deep Convolutional Neural Networks". Each
tower lives on its own device (see examples/alexnet_two_devices.py) and sees the other's maps only
in the third convolution and in the dense layers; here the towers are groups of one convolution. The
responses are normalised among a tower's own channels, because the devices do not meet there. Images
are 227 pixels a side: with the 224 that the paper names, the first layer's 55x55 would not come
out.

The one-tower network is that of Krizhevsky 2014, "One weird trick", arXiv 1404.5997, as torchvision
has it. The lecture's third variant (as in "Dive into Deep Learning") is one tower of 96 to 384
maps, of 54, 26 and 12 pixels a side.

Weights begin as in the paper: Gaussian with deviation 0.01, biases 1 in the second, fourth and
fifth convolution and the hidden dense layers, so that their ReLUs have something to learn from.
"""

from collections import OrderedDict
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.image.local_response_norm import LocalResponseNorm
from landmark.models.convolutional.block import (
    ACTIVATIONS,
    ActivationName,
    DenseLayer,
    run,
    run_unpooled,
)
from landmark.models.convolutional.shape import Window, check_size, fit, map_side, smallest_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
_KERNELS = (5, 3, 3, 3)  # behind the first, each padded so that maps keep their side
_POOLED = (0, 1, 4)  # the convolutions whose maps are pooled
APART = (1, 3, 4)
"""The convolutions that see their own tower alone; they begin with bias 1."""


@settings
class AlexNetConfig(ImageNetworkConfig):
    """Configuration of an AlexNet; as it stands, the paper's."""

    architecture: Literal["alexnet"] = "alexnet"
    """Network architecture."""
    image_size: Size = 227
    """Image height and width in pixels."""
    widths: tuple[Size, Size, Size, Size, Size] = (96, 256, 384, 384, 256)
    """Output channels of each convolution, both towers together."""
    dense_width: Size = 4096
    """Units in each of the two hidden fully connected layers."""
    towers: Literal[1, 2] = 2
    """Groups in the second, fourth and fifth convolution (2: the paper's two GPUs)."""
    response_norm: bool = True
    """Local response normalisation after the first two convolutions."""
    first_kernel: Size = 11
    """Kernel size of the first convolution; use a smaller one for small images."""
    first_stride: Size = 4
    """Stride of the first convolution."""
    first_padding: Annotated[int, Field(ge=0)] = 0
    """Zero padding around the image, in pixels."""
    pool_window: Size = 3
    """Size of the max-pooling windows at stride 2: 3 is overlapping pooling, 2 is not."""
    activation: ActivationName = "relu"
    """Activation of every layer but the last: relu, tanh or sigmoid."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Dropout probability in the hidden fully connected layers."""

    @model_validator(mode="after")
    def _towers_are_equally_wide(self) -> "AlexNetConfig":
        if any(width % self.towers for width in self.widths):
            raise ValueError(f"two towers share widths in halves: {self.widths} has an odd one")
        return self

    @property
    def windows(self) -> list[Window]:
        """Of every convolution and pooling, from below."""
        first = (self.first_kernel, self.first_stride, self.first_padding)
        convolutions: list[Window] = [first, *((k, 1, k // 2) for k in _KERNELS)]
        pool = (self.pool_window, 2, 0)
        return [
            window
            for index, convolution in enumerate(convolutions)
            for window in ([convolution, pool] if index in _POOLED else [convolution])
        ]


VARIANTS: dict[str, AlexNetConfig] = {
    "alexnet": AlexNetConfig(),
    "alexnet-one-tower": AlexNetConfig(
        image_size=224,
        widths=(64, 192, 384, 256, 256),
        towers=1,
        response_norm=False,
        first_padding=2,
    ),
    "alexnet-lecture": AlexNetConfig(classes=10, image_size=224, towers=1, response_norm=False),
}


class AlexNet(ImageNetwork):
    """Five blocks of convolution, activation, normalisation, pooling; then dense layers."""

    head = "output"

    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        channels = (config.channels, *config.widths)
        self.blocks = nn.ModuleList(
            build_block(config, index, inputs, outputs, config.towers)
            for index, (inputs, outputs) in enumerate(pairwise(channels))
        )
        self.side = map_side(config.image_size, config.windows)
        width = config.dense_width
        self.dense = nn.ModuleList(
            DenseLayer(inputs, width, config.dropout, config.activation)
            for inputs in (config.widths[-1] * self.side**2, width)
        )
        self.output = nn.Linear(width, config.classes)
        self._initialise()

    def features(self, images: Tensor) -> Tensor:
        """The last hidden layer. (B, C, H, W) -> (B, dense_width)"""
        maps = fit(run(self.blocks, images), self.side)  # (B, widths[-1], side, side)
        return run(self.dense, maps.flatten(1))

    def maps(self, images: Tensor) -> Tensor:
        """The last convolution's, before pooling. (B, C, H, W) -> (B, F, H', W')"""
        return run_unpooled(self.blocks, images)

    def stages(self) -> list[nn.Module]:
        return [*self.blocks, *self.dense]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, AlexNetConfig)
        return smallest_side(config.windows)

    def _initialise(self) -> None:
        ones = [self.blocks[index].get_submodule("convolution") for index in APART]
        ones += [layer.get_submodule("linear") for layer in self.dense]
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.01)
                assert module.bias is not None
                nn.init.constant_(module.bias, float(module in ones))


def build_block(
    config: AlexNetConfig, index: int, inputs: int, outputs: int, towers: int
) -> nn.Sequential:
    """The convolution of this index, of so many towers side by side, and all up to the next."""
    if index == 0:
        kernel, stride, padding = config.first_kernel, config.first_stride, config.first_padding
    else:
        kernel = _KERNELS[index - 1]
        stride, padding = 1, kernel // 2
    groups = towers if index in APART else 1
    layers = OrderedDict[str, nn.Module](
        convolution=nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups),
        activation=ACTIVATIONS[config.activation](),
    )
    if config.response_norm and index < 2:
        layers["response_norm"] = LocalResponseNorm(groups=towers)
    if index in _POOLED:
        layers["pool"] = nn.MaxPool2d(config.pool_window, 2)
    return nn.Sequential(layers)
