"""VGG: 3x3 convolutions in blocks, each block with half the side and twice the channels.

Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition",
arXiv 1409.1556, table 1: the networks A, A-LRN, B, C, D and E. Batch normalisation is younger than
the paper; with it these are torchvision's vgg11_bn and its likes.

Weights begin as in Glorot and Bengio 2010, which the authors found (section 3.1) to make their
first way, deeper networks begun from a trained net A, unnecessary; biases begin at 0.
"""

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.image.local_response_norm import LocalResponseNorm
from landmark.models.convolutional.block import ConvolutionLayer, DenseLayer, run, run_unpooled
from landmark.models.convolutional.shape import check_size, fit
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
LayoutName = Literal["a", "a-lrn", "b", "c", "d", "e"]
_KERNELS: dict[str, list[list[int]]] = {
    "a": [[3], [3], [3, 3], [3, 3], [3, 3]],
    "a-lrn": [[3], [3], [3, 3], [3, 3], [3, 3]],
    "b": [[3, 3], [3, 3], [3, 3], [3, 3], [3, 3]],
    "c": [[3, 3], [3, 3], [3, 3, 1], [3, 3, 1], [3, 3, 1]],
    "d": [[3, 3], [3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]],
    "e": [[3, 3], [3, 3], [3, 3, 3, 3], [3, 3, 3, 3], [3, 3, 3, 3]],
}
"""Sides of the convolutions' windows, block by block."""
_GROWTH = (1, 2, 4, 8, 8)  # how wide each block is beside the first
_SMALLEST = 2 ** len(_GROWTH)  # each block halves the side


@settings
class VGGConfig(ImageNetworkConfig):
    """Configuration of a VGG."""

    architecture: Literal["vgg"] = "vgg"
    """Network architecture."""
    layout: LayoutName = "d"
    """Configuration of the paper's table 1: a (VGG-11), a-lrn, b (VGG-13), c, d (VGG-16) or e
    (VGG-19).
    """
    width: Size = 64
    """Channels of the first block; the others have 2, 4, 8 and 8 times as many."""
    dense_width: Size = 4096
    """Units in each of the two hidden fully connected layers."""
    batch_norm: bool = False
    """Batch norm after every convolution."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Dropout probability in the hidden fully connected layers."""


VARIANTS: dict[str, VGGConfig] = {
    "vgg-a": VGGConfig(layout="a"),
    "vgg-a-lrn": VGGConfig(layout="a-lrn"),
    "vgg-b": VGGConfig(layout="b"),
    "vgg-c": VGGConfig(layout="c"),
    "vgg-d": VGGConfig(layout="d"),
    "vgg-e": VGGConfig(layout="e"),
    "vgg-a-bn": VGGConfig(layout="a", batch_norm=True),
    "vgg-b-bn": VGGConfig(layout="b", batch_norm=True),
    "vgg-d-bn": VGGConfig(layout="d", batch_norm=True),
    "vgg-e-bn": VGGConfig(layout="e", batch_norm=True),
}


class VGG(ImageNetwork):
    """Five blocks of convolutions, each closed by max pooling; then dense layers."""

    head = "output"

    def __init__(self, config: VGGConfig) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.blocks = nn.ModuleList(_block(config, index) for index in range(len(_GROWTH)))
        self.side = config.image_size // _SMALLEST
        maps, width = _GROWTH[-1] * config.width, config.dense_width
        self.dense = nn.ModuleList(
            DenseLayer(inputs, width, config.dropout) for inputs in (maps * self.side**2, width)
        )
        self.output = nn.Linear(width, config.classes)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(module.weight)
                assert module.bias is not None
                nn.init.zeros_(module.bias)

    def features(self, images: Tensor) -> Tensor:
        """The last hidden layer. (B, C, H, W) -> (B, dense_width)"""
        maps = fit(run(self.blocks, images), self.side)  # (B, 8 * width, side, side)
        return run(self.dense, maps.flatten(1))

    def maps(self, images: Tensor) -> Tensor:
        """The last convolution's, before pooling. (B, C, H, W) -> (B, F, H', W')"""
        return run_unpooled(self.blocks, images)

    def stages(self) -> list[nn.Module]:
        return [*self.blocks, *self.dense]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        return _SMALLEST


def _block(config: VGGConfig, index: int) -> nn.Sequential:
    outputs = _GROWTH[index] * config.width
    inputs = _GROWTH[index - 1] * config.width if index else config.channels
    layers: list[nn.Module] = []
    for kernel in _KERNELS[config.layout][index]:
        layers.append(
            ConvolutionLayer(
                inputs, outputs, kernel, padding=kernel // 2, batch_norm=config.batch_norm
            )
        )
        inputs = outputs
    if config.layout == "a-lrn" and index == 0:
        layers.append(LocalResponseNorm())
    return nn.Sequential(*layers, nn.MaxPool2d(2))
