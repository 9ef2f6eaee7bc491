"""GoogLeNet: nine blocks that look at their input through windows of several sizes at once.

Szegedy et al. 2015, "Going Deeper with Convolutions", arXiv 1409.4842, table 1 and figure 3. The
paper's network has biases, local response normalisation and 5x5 windows; with `batch_norm` it is
torchvision's, with batch norm, 3x3 in place of the 5x5, and a 2x2 window in the last pooling.
Weights begin as Glorot and Bengio 2010 for lack of a word in the paper: without a norm, deep maps
must neither vanish nor grow. The mean of the last maps is taken at any size. The auxiliary heads'
dense layers are sized from `image_size` by arithmetic; torchvision's average to 4x4 at any size.
"""

import dataclasses
from collections import OrderedDict
from itertools import count
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.branch import Parallel, Step, chain
from landmark.models.convolutional.shape import check_size
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Share = Annotated[float, Field(ge=0, lt=1)]
_POOL_BEFORE = {"4a": "pool3", "5a": "pool4"}
_WIDTHS = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Table 1: 1x1; 3x3 reduced, 3x3; 5x5 reduced, 5x5; projected after pooling."""
_AUXILIARY_AFTER = ("4a", "4d")


@settings
class GoogLeNetConfig(ImageNetworkConfig):
    """Configuration of a GoogLeNet."""

    architecture: Literal["googlenet"] = "googlenet"
    """Network architecture."""
    batch_norm: bool = False
    """Use torchvision's variant: batch norm, and 3x3 kernels where the paper has 5x5."""
    auxiliary: bool = True
    """Train with the two auxiliary classifiers."""
    dropout: Share = 0.4
    """Dropout probability before the last layer."""
    auxiliary_dropout: Share = 0.7
    """Dropout probability in the auxiliary classifiers."""


VARIANTS = {
    "googlenet": GoogLeNetConfig(),
    "googlenet-bn": GoogLeNetConfig(batch_norm=True, dropout=0.2),
}


class GoogLeNet(ImageNetwork):
    """A stem, nine inception blocks in three stages, the mean of every map, one linear layer."""

    head = "classifier"
    auxiliary_weight: ClassVar[float] = 0.3

    def __init__(self, config: GoogLeNetConfig) -> None:
        super().__init__()
        check_size(type(self), config, dataclasses.replace(config, auxiliary=False))
        self.config = config
        self.stem = _build_stem(config)
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        heads: dict[str, nn.Module] = {}
        inputs = 192
        for name, widths in _WIDTHS.items():
            if name in _POOL_BEFORE:
                parts[_POOL_BEFORE[name]] = _pool(_window(config, name))
            parts[name] = InceptionBlock(inputs, widths, config.batch_norm)
            inputs = widths[0] + widths[2] + widths[4] + widths[5]
            if config.auxiliary and name in _AUXILIARY_AFTER:
                heads[name] = AuxiliaryHead(config, inputs)
        self.body = nn.Sequential(parts)
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(inputs, config.classes)
        self.auxiliary = nn.ModuleDict(heads)
        initialize(self)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        return self._pool(self.maps(images))

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F, H', W')"""
        maps: Tensor = self.body(self.stem(images))
        return maps

    def scores(self, images: Tensor) -> tuple[Tensor, ...]:
        x, early = self.stem(images), []
        for name, part in self.body.named_children():
            x = part(x)
            if name in self.auxiliary:
                early.append(self.auxiliary[name](x))
        return (self.classify(self._pool(x)), *early)

    def stages(self) -> list[nn.Module]:
        parts = [self.get_submodule(f"body.{name}") for name in _WIDTHS]
        return [self.stem, *parts]

    def _pool(self, maps: Tensor) -> Tensor:
        pooled: Tensor = self.dropout(maps.mean((2, 3)))
        return pooled

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, GoogLeNetConfig)
        return next(size for size in count(1) if _comes_through(config, size))


class InceptionBlock(Parallel):
    """Figure 2b: windows of 1, 3 and 5 pixels and pooling, narrowed by 1x1 convolutions."""

    def __init__(self, inputs: int, widths: tuple[int, ...], batch_norm: bool) -> None:
        one, three_reduced, three, five_reduced, five, pooled = widths
        window = 3 if batch_norm else 5
        super().__init__(
            chain(inputs, Step(one, 1), norm=batch_norm),
            chain(inputs, Step(three_reduced, 1), Step(three, 3), norm=batch_norm),
            chain(inputs, Step(five_reduced, 1), Step(five, window), norm=batch_norm),
            chain(inputs, nn.MaxPool2d(3, 1, 1), Step(pooled, 1), norm=batch_norm),
        )


class AuxiliaryHead(nn.Module):
    """Section 5: average pooling, a 1x1 convolution, two dense layers."""

    def __init__(self, config: GoogLeNetConfig, inputs: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(4) if config.batch_norm else nn.AvgPool2d(5, 3)
        side = 4 if config.batch_norm else _auxiliary_side(config, config.image_size)
        self.convolution = chain(inputs, Step(128, 1), norm=config.batch_norm)
        self.hidden = nn.Linear(128 * side * side, 1024)
        self.activation = nn.ReLU(inplace=True)
        self.dropout = Dropout(config.auxiliary_dropout)
        self.output = nn.Linear(1024, config.classes)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""
        x = self.convolution(self.pool(x)).flatten(1)
        scores: Tensor = self.output(self.dropout(self.activation(self.hidden(x))))
        return scores


def initialize(network: nn.Module) -> None:
    """Glorot and Bengio 2010 for every weight, zero for every bias."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _build_stem(config: GoogLeNetConfig) -> nn.Sequential:
    """Down to an eighth of the image, 192 maps."""
    norms = [nn.Identity() if config.batch_norm else nn.LocalResponseNorm(5) for _ in range(2)]
    return chain(
        config.channels,
        Step(64, 7, 2),
        _pool(3),
        norms[0],
        Step(64, 1),
        Step(192, 3),
        norms[1],
        _pool(3),
        norm=config.batch_norm,
    )


def _pool(window: int) -> nn.MaxPool2d:
    return nn.MaxPool2d(window, 2, ceil_mode=True)


def _window(config: GoogLeNetConfig, before: str) -> int:
    """Of the pooling before a block."""
    return 2 if config.batch_norm and before == "5a" else 3


def _pooled(size: int, window: int) -> int:
    """Pixels a side after pooling at stride 2 that also takes the last, incomplete window."""
    return (size - window + 1) // 2 + 1


def _sides(config: GoogLeNetConfig, size: int) -> tuple[int, int]:
    """Pixels a side in the fourth and the fifth stage for an image of a size."""
    side = (size + 1) // 2
    for _ in range(2):
        side = _pooled(side, 3)
    fourth = _pooled(side, _window(config, "4a"))
    return fourth, _pooled(fourth, _window(config, "5a"))


def _auxiliary_side(config: GoogLeNetConfig, size: int) -> int:
    return (_sides(config, size)[0] - 5) // 3 + 1


def _comes_through(config: GoogLeNetConfig, size: int) -> bool:
    """Whether every map on the way has a pixel."""
    needs_five = config.auxiliary and not config.batch_norm
    return min(_sides(config, size)) >= 1 and (not needs_five or _auxiliary_side(config, size) >= 1)
