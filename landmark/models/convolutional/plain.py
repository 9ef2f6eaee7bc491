"""Convolutions with pooling between them, then one dense layer: c64-c64-c128-1000 by default.

Kingma and Ba 2014, arXiv 1412.6980, section 6.3: three stages of 5x5 filters and 3x3 max pooling
with a stride of 2, a dense layer of 1000 units, ReLU throughout, dropout on the input and the dense
layer. The paper gives neither padding nor the shares dropped nor initial weights: here each
convolution keeps the size, pooling halves it (32, 16, 8, 4), a fifth of the input and half of the
dense layer are dropped (as in Srivastava et al. 2014), weights begin as in He et al. 2015.
"""

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.block import ConvolutionLayer, DenseLayer, run, run_unpooled
from landmark.models.convolutional.shape import Window, fit, map_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
_CONVOLUTION: Window = (5, 1, 2)
_POOL: Window = (3, 2, 1)


@settings
class PlainConfig(ImageNetworkConfig):
    """Configuration of a plain convolutional network."""

    architecture: Literal["plain"] = "plain"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    image_size: Size = 32
    """Image height and width in pixels."""
    widths: Annotated[tuple[Size, ...], Field(min_length=1)] = (64, 64, 128)
    """Channels of each convolution; each is followed by max pooling."""
    dense_width: Size = 1000
    """Units in the fully connected layer."""
    dropout: Share = 0.5
    """Dropout probability in the fully connected layer."""
    input_dropout: Share = 0.2
    """Dropout probability on the input."""


VARIANTS: dict[str, PlainConfig] = {"plain-cifar10": PlainConfig()}


class PlainNetwork(ImageNetwork):
    """Stages of a convolution and pooling, a dense layer, a linear output."""

    head = "output"

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        windows = (_CONVOLUTION, _POOL) * len(config.widths)
        self.side = map_side(config.image_size, windows)
        self.input_dropout = Dropout(config.input_dropout)
        self.convolutions = nn.ModuleList()
        inputs = config.channels
        for maps in config.widths:
            layer = ConvolutionLayer(inputs, maps, *_CONVOLUTION)
            self.convolutions.append(nn.Sequential(layer, nn.MaxPool2d(*_POOL)))
            inputs = maps
        self.dense = DenseLayer(inputs * self.side**2, config.dense_width, config.dropout)
        self.output = nn.Linear(config.dense_width, config.classes)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        nn.init.xavier_uniform_(self.output.weight)  # no ReLU behind it

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        maps = run(self.convolutions, self.input_dropout(images))  # (B, K, H / 8, W / 8)
        units: Tensor = self.dense(fit(maps, self.side).flatten(1))
        return units

    def maps(self, images: Tensor) -> Tensor:
        """The last convolution's, before pooling. (B, C, H, W) -> (B, F, H', W')"""
        return run_unpooled(self.convolutions, self.input_dropout(images))

    def stages(self) -> list[nn.Module]:
        return [*self.convolutions, self.dense]
