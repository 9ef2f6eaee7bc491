"""Points of a Gaussian on the line, keyed by sample: the smallest data an adversary learns."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed
from landmark.data.batch import PointBatch


@settings
class GaussianConfig:
    """The normal distribution that the GAN learns."""

    mean: float = 4.0
    """Mean of the normal distribution."""
    deviation: Annotated[float, Field(gt=0)] = 1.25
    """Standard deviation of the normal distribution."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Batch size in samples."""
    batches: Annotated[int, Field(ge=1)] = 100
    """Batches per epoch."""
    noise_size: Annotated[int, Field(ge=1)] = 4
    """Dimension of the generator's noise input."""


class GaussianSamples:
    """Endless points: sample s of epoch e is always the same point with the same noise."""

    def __init__(self, config: GaussianConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self._drawn = (-1, torch.empty(0))

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        config = self.config
        return np.split(np.arange(config.batches * config.batch_size), config.batches)

    def collate(self, epoch: int, samples: Sequence[int]) -> PointBatch:
        drawn = self._epoch(epoch)[torch.as_tensor(samples)]
        points = drawn[:, :1] * self.config.deviation + self.config.mean
        return PointBatch(points=points, noise=drawn[:, 1:])

    def _epoch(self, epoch: int) -> Tensor:
        """All numbers of an epoch: a row a sample, its point first, then its noise."""
        if self._drawn[0] != epoch:
            random = np.random.default_rng(derive_seed(self.seed, "points", epoch))
            shape = (self.config.batches * self.config.batch_size, 1 + self.config.noise_size)
            self._drawn = (epoch, torch.from_numpy(random.standard_normal(shape, np.float32)))
        return self._drawn[1]
