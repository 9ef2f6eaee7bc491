"""Inception-v4, and Inception-ResNet-v2, whose blocks are added to their input.

Szegedy et al. 2017, "Inception-v4, Inception-ResNet and the Impact of Residual Connections on
Learning", arXiv 1602.07261. Inception-v4 is drawn as in figures 3 to 9, without any residual sum.
Inception-ResNet-v2 is the network that Google published, as timm has it: Inception-v3's stem where
the paper draws v4's, 20 and 10 blocks of the second and third kind where it draws 10 and 5, sums
scaled down by 0.17, 0.1 and 0.2. Neither has an auxiliary head.
"""

from abc import abstractmethod
from typing import Annotated, Literal

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.branch import Parallel, Step, average_pool, chain
from landmark.models.convolutional.inception import build_stem, initialize
from landmark.models.convolutional.shape import Window, check_size, smallest_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

_ROW, _COLUMN = (1, 7), (7, 1)
_WINDOWS: list[Window] = [(3, 2, 0), (3, 1, 0), (3, 2, 0), (3, 1, 0), (3, 2, 0), (3, 2, 0)]
"""Through the stem and the first reduction, of both networks."""


@settings
class _Config(ImageNetworkConfig):
    """What both networks have in common."""

    image_size: Annotated[int, Field(ge=1)] = 299
    """Image height and width in pixels."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Dropout probability before the last layer."""


@settings
class InceptionV4Config(_Config):
    """Configuration of an Inception-v4."""

    architecture: Literal["inception-v4"] = "inception-v4"
    """Network architecture."""


@settings
class InceptionResNetV2Config(_Config):
    """Configuration of an Inception-ResNet-v2."""

    architecture: Literal["inception-resnet-v2"] = "inception-resnet-v2"
    """Network architecture."""


VARIANTS: dict[str, InceptionV4Config | InceptionResNetV2Config] = {
    "inception-v4": InceptionV4Config(),
    "inception-resnet-v2": InceptionResNetV2Config(),
}


class _Inception(ImageNetwork):
    """A stem, blocks on three scales, the mean of every map, one linear layer."""

    head = "classifier"
    stem: nn.Sequential
    body: nn.Sequential

    def __init__(self, config: _Config) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.stem, self.body = self._build(config.channels)
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(1536, config.classes)
        initialize(self)

    @abstractmethod
    def _build(self, channels: int) -> tuple[nn.Sequential, nn.Sequential]:
        """The stem and what follows it."""

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

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        return smallest_side([*_WINDOWS, (3, 2, 0)])


class InceptionV4(_Inception):
    """Figure 9: 4, 7 and 3 blocks of three kinds."""

    def _build(self, channels: int) -> tuple[nn.Sequential, nn.Sequential]:
        stem = chain(
            channels,
            Step(32, 3, 2, 0),
            Step(32, 3, 1, 0),
            Step(64, 3),
            Parallel(nn.MaxPool2d(3, 2), chain(64, Step(96, 3, 2, 0))),
            Parallel(
                chain(160, Step(64, 1), Step(96, 3, 1, 0)),
                chain(160, Step(64, 1), Step(64, _ROW), Step(64, _COLUMN), Step(96, 3, 1, 0)),
            ),
            Parallel(chain(192, Step(192, 3, 2, 0)), nn.MaxPool2d(3, 2)),
        )
        body = nn.Sequential(
            nn.Sequential(*(_block_a() for _ in range(4))),
            _reduction_a(384, (192, 224, 256)),
            nn.Sequential(*(_block_b() for _ in range(7))),
            _reduction_b(),
            nn.Sequential(*(_block_c() for _ in range(3))),
        )
        return stem, body


class InceptionResNetV2(_Inception):
    """10, 20 and 10 residual blocks of three kinds; the last of them ends without a rectifier."""

    def _build(self, channels: int) -> tuple[nn.Sequential, nn.Sequential]:
        last = ScaledResidual(_residual_c(), 448, 2080, 1.0, rectified=False)
        body = nn.Sequential(
            _first_block(),
            nn.Sequential(*(ScaledResidual(_residual_a(), 128, 320, 0.17) for _ in range(10))),
            _reduction_a(320, (256, 256, 384)),
            nn.Sequential(*(ScaledResidual(_residual_b(), 384, 1088, 0.10) for _ in range(20))),
            _wide_reduction(),
            nn.Sequential(
                *(ScaledResidual(_residual_c(), 448, 2080, 0.20) for _ in range(9)), last
            ),
            chain(2080, Step(1536, 1)),
        )
        return build_stem(channels), body


class ScaledResidual(nn.Module):
    """y = ReLU(x + scale * F(x)): small scales keep wide networks stable (section 3.3)."""

    def __init__(
        self, branches: Parallel, inner: int, width: int, scale: float, *, rectified: bool = True
    ) -> None:
        super().__init__()
        self.branches = branches
        self.projection = nn.Conv2d(inner, width, 1)
        self.scale = scale
        self.rectified = rectified

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)"""
        y = x.add(self.projection(self.branches(x)), alpha=self.scale)
        return F.relu(y, inplace=True) if self.rectified else y


def _block_a() -> Parallel:
    """Figure 4, on 35x35."""
    return Parallel(
        chain(384, Step(96, 1)),
        chain(384, Step(64, 1), Step(96, 3)),
        chain(384, Step(64, 1), Step(96, 3), Step(96, 3)),
        chain(384, average_pool(counts_padding=False), Step(96, 1)),
    )


def _block_b() -> Parallel:
    """Figure 5, on 17x17."""
    return Parallel(
        chain(1024, Step(384, 1)),
        chain(1024, Step(192, 1), Step(224, _ROW), Step(256, _COLUMN)),
        chain(
            1024,
            Step(192, 1),
            Step(192, _COLUMN),
            Step(224, _ROW),
            Step(224, _COLUMN),
            Step(256, _ROW),
        ),
        chain(1024, average_pool(counts_padding=False), Step(128, 1)),
    )


def _block_c() -> Parallel:
    """Figure 6, on 8x8."""
    return Parallel(
        chain(1536, Step(256, 1)),
        chain(1536, Step(384, 1), _row_beside_column(384)),
        chain(1536, Step(384, 1), Step(448, (3, 1)), Step(512, (1, 3)), _row_beside_column(512)),
        chain(1536, average_pool(counts_padding=False), Step(256, 1)),
    )


def _row_beside_column(inputs: int) -> Parallel:
    return Parallel(chain(inputs, Step(256, (1, 3))), chain(inputs, Step(256, (3, 1))))


def _reduction_a(inputs: int, widths: tuple[int, int, int]) -> Parallel:
    """Figure 7: 35x35 to 17x17."""
    first, second, third = widths
    return Parallel(
        chain(inputs, Step(384, 3, 2, 0)),
        chain(inputs, Step(first, 1), Step(second, 3), Step(third, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )


def _reduction_b() -> Parallel:
    """Figure 8: 17x17 to 8x8."""
    return Parallel(
        chain(1024, Step(192, 1), Step(192, 3, 2, 0)),
        chain(1024, Step(256, 1), Step(256, _ROW), Step(320, _COLUMN), Step(320, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )


def _first_block() -> Parallel:
    """What comes before the residual blocks: 192 maps to 320."""
    return Parallel(
        chain(192, Step(96, 1)),
        chain(192, Step(48, 1), Step(64, 5)),
        chain(192, Step(64, 1), Step(96, 3), Step(96, 3)),
        chain(192, average_pool(counts_padding=False), Step(64, 1)),
    )


def _residual_a() -> Parallel:
    """Figure 16, on 35x35."""
    return Parallel(
        chain(320, Step(32, 1)),
        chain(320, Step(32, 1), Step(32, 3)),
        chain(320, Step(32, 1), Step(48, 3), Step(64, 3)),
    )


def _residual_b() -> Parallel:
    """Figure 17, on 17x17."""
    return Parallel(
        chain(1088, Step(192, 1)),
        chain(1088, Step(128, 1), Step(160, _ROW), Step(192, _COLUMN)),
    )


def _residual_c() -> Parallel:
    """Figure 19, on 8x8."""
    return Parallel(
        chain(2080, Step(192, 1)),
        chain(2080, Step(192, 1), Step(224, (1, 3)), Step(256, (3, 1))),
    )


def _wide_reduction() -> Parallel:
    """Figure 18: 17x17 to 8x8."""
    return Parallel(
        chain(1088, Step(256, 1), Step(384, 3, 2, 0)),
        chain(1088, Step(256, 1), Step(288, 3, 2, 0)),
        chain(1088, Step(256, 1), Step(288, 3), Step(320, 3, 2, 0)),
        nn.MaxPool2d(3, 2),
    )
