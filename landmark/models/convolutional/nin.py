"""Network in Network: behind every convolution a small network at each place, and no dense layer.

Lin, Chen and Yan 2013, "Network In Network", arXiv 1312.4400. A block is a convolution and two 1x1
convolutions; the last block ends in one map for each class, whose mean is the class's score. Max
pooling rounds up, as the authors' program does (32, 16, 8 pixels a side). The paper gives no rule
for initial weights ("manually set"); these begin as in He et al. 2015, arXiv 1502.01852, which is
made for ReLU, with biases 0. The maps of the classes begin small and positive: with weights of that
size trainings stood still at a loss of log(classes), because a ReLU that is 0 everywhere passes no
gradient.
"""

from itertools import pairwise
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.block import ConvolutionLayer, run
from landmark.models.convolutional.shape import Window, check_size, smallest_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
Block = tuple[Window, tuple[int, ...]]
_BLOCKS: dict[str, list[Block]] = {
    "cifar": [
        ((5, 1, 2), (192, 160, 96)),
        ((5, 1, 2), (192, 192, 192)),
        ((3, 1, 1), (192, 192)),
    ],
    "imagenet": [
        ((11, 4, 0), (96, 96, 96)),
        ((5, 1, 2), (256, 256, 256)),
        ((3, 1, 1), (384, 384, 384)),
        ((3, 1, 1), (1024, 1024)),
    ],
}
"""Of each block its first window and its layers' channels; classes come behind the last."""
_POOL: Window = (2, 2, 0)  # what is left of a side by 3x3 windows that may reach over the edge


@settings
class NINConfig(ImageNetworkConfig):
    """Configuration of a Network in Network."""

    architecture: Literal["nin"] = "nin"
    """Network architecture."""
    layout: Literal["cifar", "imagenet"] = "cifar"
    """cifar: three blocks, for small images; imagenet: four blocks, for large ones."""
    image_size: Size = 32
    """Image height and width in pixels."""
    last_width: Size | None = None
    """Channels of the last block before the classifier; null: 192 for cifar, 1024 for imagenet."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Dropout probability between blocks."""

    @property
    def blocks(self) -> list[Block]:
        """Windows and channels, the last block's without the classes."""
        *blocks, (window, widths) = _BLOCKS[self.layout]
        if self.last_width:
            widths = (self.last_width,) * len(widths)
        return [*blocks, (window, widths)]


VARIANTS: dict[str, NINConfig] = {
    "nin-cifar10": NINConfig(classes=10),
    "nin-cifar100": NINConfig(classes=100),
    "nin-imagenet": NINConfig(layout="imagenet", image_size=224),
    "nin-imagenet-1000": NINConfig(layout="imagenet", image_size=224, last_width=1000),
}


class ClassMaps(nn.Module):
    """A map for each class by a 1x1 convolution; a class's score is the mean of its map."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.convolution = nn.Conv2d(inputs, classes, 1)

    def forward(self, features: Tensor) -> Tensor:
        """(B, C * places) -> (B, K)"""
        places = features.unflatten(1, (self.inputs, -1, 1))  # in a column: a 1x1 window minds not
        maps = self.convolution(places).relu()  # (B, K, places, 1)
        return maps.mean((-2, -1))


class NIN(ImageNetwork):
    """Blocks with pooling and dropout between them, then the mean of a map for each class."""

    head = "output"

    def __init__(self, config: NINConfig) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.blocks = nn.ModuleList()
        inputs, last = config.channels, len(config.blocks) - 1
        for index, (window, widths) in enumerate(config.blocks):
            layers = _layers(inputs, window, widths)
            if index < last:
                layers += [nn.MaxPool2d(3, 2, ceil_mode=True), Dropout(config.dropout)]
            self.blocks.append(nn.Sequential(*layers))
            inputs = widths[-1]
        self.output = ClassMaps(inputs, config.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        assert self.output.convolution.bias is not None
        nn.init.constant_(self.output.convolution.bias, 1.0)
        with torch.no_grad():
            self.output.convolution.weight *= 0.1

    def features(self, images: Tensor) -> Tensor:
        """The maps that the classes' maps are made of. (B, C, H, W) -> (B, C' * H' * W')"""
        return self.maps(images).flatten(1)

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H', W')"""
        return run(self.blocks, images)

    def stages(self) -> list[nn.Module]:
        return list(self.blocks)

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, NINConfig)
        first = [window for window, _ in config.blocks]
        return smallest_side([each for window in first[:-1] for each in (window, _POOL)])


def _layers(inputs: int, window: Window, widths: tuple[int, ...]) -> list[nn.Module]:
    """A convolution, then 1x1 convolutions."""
    layers: list[nn.Module] = [ConvolutionLayer(inputs, widths[0], *window)]
    for before, after in pairwise(widths):
        layers.append(ConvolutionLayer(before, after, 1))
    return layers
