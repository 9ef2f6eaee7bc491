"""Networks that only a comparison needs: the same convolutions under dense layers."""

from torch import Tensor, nn

from landmark.models.convolutional.block import run
from landmark.models.convolutional.highway import HighwayConfig, HighwayNetwork
from landmark.models.image import ImageNetworkConfig

DENSE_WIDTH = 256
DROPOUT = 0.5


class DenseEnd(HighwayNetwork):
    """Behind the last maps two dense layers, in place of the mean of each map."""

    def __init__(self, config: HighwayConfig, dropout: float) -> None:
        super().__init__(config)
        side = config.image_size // 2 ** (len(config.depths) - 1)
        inputs = config.widths[-1] * side**2
        self.dense = nn.Sequential(
            nn.Linear(inputs, DENSE_WIDTH), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(DENSE_WIDTH, DENSE_WIDTH), nn.ReLU(), nn.Dropout(dropout),
        )  # fmt: skip
        self.output = nn.Linear(DENSE_WIDTH, config.classes)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, DENSE_WIDTH)"""
        hidden: Tensor = self.dense(run(self.blocks, images).flatten(1))
        return hidden

    def stages(self) -> list[nn.Module]:
        return [*super().stages(), self.dense]


def dense_end(config: ImageNetworkConfig) -> DenseEnd:
    assert isinstance(config, HighwayConfig)
    return DenseEnd(config, dropout=0.0)


def dense_end_with_dropout(config: ImageNetworkConfig) -> DenseEnd:
    assert isinstance(config, HighwayConfig)
    return DenseEnd(config, DROPOUT)
