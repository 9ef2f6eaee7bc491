"""Inception-BN and Inception-v3: blocks of small windows, batch norm behind every convolution.

Inception-BN: Ioffe and Szegedy 2015, "Batch Normalization", arXiv 1502.03167, figure 5. The
pooled branches of 4c and 4d have 96 maps, which makes 576 in all; the first convolution is
separable, of depth multiplier 8 (appendix).
Inception-v3: Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision",
arXiv 1512.00567, the network of table 1's last lines as Google published it and torchvision has
it, with one auxiliary head, which here averages maps of any size.
"""

import dataclasses
from collections import OrderedDict
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.branch import Parallel, Step, average_pool, chain
from landmark.models.convolutional.shape import Window, check_size, smallest_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Share = Annotated[float, Field(ge=0, lt=1)]
_MULTIPLIER = 8  # maps of the first, separable convolution for each channel of the image
_AUXILIARY_AFTER = "6e"


@settings
class InceptionBNConfig(ImageNetworkConfig):
    """Configuration of an Inception-BN."""

    architecture: Literal["inception-bn"] = "inception-bn"
    """Network architecture."""
    dropout: Share = 0.0
    """Dropout probability before the last layer (paper: 0)."""


@settings
class InceptionV3Config(ImageNetworkConfig):
    """Configuration of an Inception-v3."""

    architecture: Literal["inception-v3"] = "inception-v3"
    """Network architecture."""
    image_size: Annotated[int, Field(ge=1)] = 299
    """Image height and width in pixels."""
    auxiliary: bool = True
    """Train with the auxiliary classifier."""
    dropout: Share = 0.5
    """Dropout probability before the last layer."""


VARIANTS: dict[str, InceptionBNConfig | InceptionV3Config] = {
    "inception-bn": InceptionBNConfig(),
    "inception-v3": InceptionV3Config(),
}


class InceptionBN(ImageNetwork):
    """A stem, ten inception blocks of which two halve the image, the mean, one linear layer."""

    head = "classifier"

    def __init__(self, config: InceptionBNConfig) -> None:
        super().__init__()
        self.config = config
        separated = _MULTIPLIER * config.channels
        self.stem = nn.Sequential(
            nn.Conv2d(config.channels, separated, 7, 2, 3, groups=config.channels, bias=False),
            *chain(separated, Step(64, 1), nn.MaxPool2d(3, 2, 1)),
            *chain(64, Step(64, 1), Step(192, 3), nn.MaxPool2d(3, 2, 1)),
        )
        blocks: dict[str, nn.Module] = {
            "3a": _small_windows(192, 64, (64, 64), (64, 96), 32),
            "3b": _small_windows(256, 64, (64, 96), (64, 96), 64),
            "3c": _halving(320, (128, 160), (64, 96)),
            "4a": _small_windows(576, 224, (64, 96), (96, 128), 128),
            "4b": _small_windows(576, 192, (96, 128), (96, 128), 128),
            "4c": _small_windows(576, 160, (128, 160), (128, 160), 96),
            "4d": _small_windows(576, 96, (128, 192), (160, 192), 96),
            "4e": _halving(576, (128, 192), (192, 256)),
            "5a": _small_windows(1024, 352, (192, 320), (160, 224), 128),
            "5b": _small_windows(1024, 352, (192, 320), (192, 224), 128, nn.MaxPool2d(3, 1, 1)),
        }
        self.body = nn.Sequential(OrderedDict(blocks))
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(1024, config.classes)
        initialize(self)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        pooled: Tensor = self.dropout(self.maps(images).mean((2, 3)))
        return pooled

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F, H', W')"""
        maps: Tensor = self.body(self.stem(images))
        return maps

    def stages(self) -> list[nn.Module]:
        return [self.stem, *self.body]


class InceptionV3(ImageNetwork):
    """A stem, eleven inception blocks on three scales, the mean, one linear layer."""

    head = "classifier"
    auxiliary_weight: ClassVar[float] = 0.4  # as in Google's code

    def __init__(self, config: InceptionV3Config) -> None:
        super().__init__()
        check_size(type(self), config, dataclasses.replace(config, auxiliary=False))
        self.config = config
        self.stem = build_stem(config.channels)
        blocks: dict[str, nn.Module] = {
            "5b": _two_small(192, 32),
            "5c": _two_small(256, 64),
            "5d": _two_small(288, 64),
            "6a": _first_reduction(288),
            "6b": _rows_and_columns(768, 128),
            "6c": _rows_and_columns(768, 160),
            "6d": _rows_and_columns(768, 160),
            "6e": _rows_and_columns(768, 192),
            "7a": _second_reduction(768),
            "7b": _spread_out(1280),
            "7c": _spread_out(2048),
        }
        self.body = nn.Sequential(OrderedDict(blocks))
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(2048, config.classes)
        self.auxiliary = AuxiliaryHead(768, config.classes) if config.auxiliary else None
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
            if self.auxiliary is not None and name == _AUXILIARY_AFTER:
                early.append(self.auxiliary(x))
        return (self.classify(self._pool(x)), *early)

    def stages(self) -> list[nn.Module]:
        return [self.stem, *self.body]

    def _pool(self, maps: Tensor) -> Tensor:
        pooled: Tensor = self.dropout(maps.mean((2, 3)))
        return pooled

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, InceptionV3Config)
        stem: list[Window] = [(3, 2, 0), (3, 1, 0), (3, 2, 0), (3, 1, 0), (3, 2, 0)]
        without = smallest_side([*stem, (3, 2, 0), (3, 2, 0)])
        if not config.auxiliary:
            return without
        return max(without, smallest_side([*stem, (3, 2, 0), (5, 3, 0), (5, 1, 0)]))


class AuxiliaryHead(nn.Module):
    """Average pooling, a 1x1 and a 5x5 convolution, the mean of what is left, one dense layer."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(5, 3)
        self.convolutions = chain(inputs, Step(128, 1), Step(768, 5, 1, 0))
        self.output = nn.Linear(768, classes)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""
        scores: Tensor = self.output(self.convolutions(self.pool(x)).mean((2, 3)))
        return scores


def build_stem(channels: int) -> nn.Sequential:
    """299 pixels a side to 35, 192 maps; Inception-ResNet-v2's too."""
    return chain(
        channels,
        Step(32, 3, 2, 0),
        Step(32, 3, 1, 0),
        Step(64, 3),
        nn.MaxPool2d(3, 2),
        Step(80, 1),
        Step(192, 3, 1, 0),
        nn.MaxPool2d(3, 2),
    )


def initialize(network: nn.Module) -> None:
    """He et al. 2015, arXiv 1502.01852, by the inputs, as Google's code: activations keep size."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _small_windows(
    inputs: int,
    one: int,
    three: tuple[int, int],
    double: tuple[int, int],
    pooled: int,
    pool: nn.Module | None = None,
) -> Parallel:
    """Inception-BN's block: 1x1; 3x3; two 3x3 in place of the 5x5; pooling, by the mean."""
    pool = average_pool(counts_padding=False) if pool is None else pool
    return Parallel(
        chain(inputs, Step(one, 1)),
        chain(inputs, Step(three[0], 1), Step(three[1], 3)),
        chain(inputs, Step(double[0], 1), Step(double[1], 3), Step(double[1], 3)),
        chain(inputs, pool, Step(pooled, 1)),
    )


def _halving(inputs: int, three: tuple[int, int], double: tuple[int, int]) -> Parallel:
    """Inception-BN's block at stride 2: what is pooled passes through."""
    return Parallel(
        chain(inputs, Step(three[0], 1), Step(three[1], 3, 2)),
        chain(inputs, Step(double[0], 1), Step(double[1], 3), Step(double[1], 3, 2)),
        nn.MaxPool2d(3, 2, 1),
    )


def _two_small(inputs: int, pooled: int) -> Parallel:
    """Figure 5: two 3x3 windows beside a 5x5."""
    return Parallel(
        chain(inputs, Step(64, 1)),
        chain(inputs, Step(48, 1), Step(64, 5)),
        chain(inputs, Step(64, 1), Step(96, 3), Step(96, 3)),
        chain(inputs, average_pool(counts_padding=True), Step(pooled, 1)),
    )


def _first_reduction(inputs: int) -> Parallel:
    """Figure 10: half the size and more maps, without a bottleneck."""
    return Parallel(
        chain(inputs, Step(384, 3, 2, 0)),
        chain(inputs, Step(64, 1), Step(96, 3), Step(96, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )


def _rows_and_columns(inputs: int, width: int) -> Parallel:
    """Figure 6: 7x7 windows as 1x7 and 7x1, once and twice."""
    row, column = (1, 7), (7, 1)
    return Parallel(
        chain(inputs, Step(192, 1)),
        chain(inputs, Step(width, 1), Step(width, row), Step(192, column)),
        chain(
            inputs,
            Step(width, 1),
            Step(width, column),
            Step(width, row),
            Step(width, column),
            Step(192, row),
        ),
        chain(inputs, average_pool(counts_padding=True), Step(192, 1)),
    )


def _second_reduction(inputs: int) -> Parallel:
    """Half the size once more, after 7x7 windows."""
    return Parallel(
        chain(inputs, Step(192, 1), Step(320, 3, 2, 0)),
        chain(inputs, Step(192, 1), Step(192, (1, 7)), Step(192, (7, 1)), Step(192, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )


def _spread_out(inputs: int) -> Parallel:
    """Figure 7: rows and columns side by side, for many maps on the coarsest grid."""
    return Parallel(
        chain(inputs, Step(320, 1)),
        chain(inputs, Step(384, 1), _row_beside_column(384, 384)),
        chain(inputs, Step(448, 1), Step(384, 3), _row_beside_column(384, 384)),
        chain(inputs, average_pool(counts_padding=True), Step(192, 1)),
    )


def _row_beside_column(inputs: int, outputs: int) -> Parallel:
    return Parallel(chain(inputs, Step(outputs, (1, 3))), chain(inputs, Step(outputs, (3, 1))))
