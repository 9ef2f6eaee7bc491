"""Points of known densities, keyed by sample, with noise: the smallest data an adversary learns.

The ring and the grid are those of Srivastava et al. 2017 (VEEGAN, arXiv 1705.07761), which Lin et
al. 2018 (PacGAN, arXiv 1712.04086) take over.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed
from landmark.data.batch import AdversarialBatch
from landmark.data.density import GaussianMixture
from landmark.data.noise import NoiseConfig, as_prior

_Std = Annotated[float, Field(gt=0)]


@settings
class PointsConfig(NoiseConfig):
    """Points of a density, and how many make a batch."""

    batch_size: Annotated[int, Field(ge=2, le=limits.BATCH)] = 256
    """Batch size in samples, of each discriminator step."""
    batches: Annotated[int, Field(ge=1)] = 100
    """Batches per epoch."""

    @abstractmethod
    def density(self) -> GaussianMixture:
        """What the points are drawn from."""


@settings
class GaussianConfig(PointsConfig):
    """A normal distribution on the line."""

    distribution: Literal["gaussian"] = "gaussian"
    """Distribution of the data: gaussian, mixture, ring, grid or spiral."""
    mean: float = 4.0
    """Mean of the normal distribution."""
    std: _Std = 1.25
    """Standard deviation of the normal distribution."""

    def density(self) -> GaussianMixture:
        return GaussianMixture([[self.mean]], self.std)


@settings
class MixtureConfig(PointsConfig):
    """Normal distributions side by side on the line."""

    distribution: Literal["mixture"] = "mixture"
    """Distribution of the data: gaussian, mixture, ring, grid or spiral."""
    means: Annotated[tuple[float, ...], Field(min_length=1, max_length=1000)] = (-3.0, 0.0, 3.0)
    """Mean of each Gaussian."""
    std: _Std = 0.5
    """Standard deviation of each Gaussian."""

    def density(self) -> GaussianMixture:
        return GaussianMixture([[mean] for mean in self.means], self.std)


@settings
class RingConfig(PointsConfig):
    """Gaussians around a circle."""

    distribution: Literal["ring"] = "ring"
    """Distribution of the data: gaussian, mixture, ring, grid or spiral."""
    modes: Annotated[int, Field(ge=1, le=1000)] = 8
    """Number of Gaussians."""
    radius: Annotated[float, Field(gt=0)] = 1.0
    """Radius of the circle."""
    std: _Std = 0.01
    """Standard deviation of each Gaussian."""

    def density(self) -> GaussianMixture:
        angles = [2 * math.pi * mode / self.modes for mode in range(self.modes)]
        circle = [[self.radius * math.cos(a), self.radius * math.sin(a)] for a in angles]
        return GaussianMixture(circle, self.std)


@settings
class GridConfig(PointsConfig):
    """Gaussians on a square grid around the origin."""

    distribution: Literal["grid"] = "grid"
    """Distribution of the data: gaussian, mixture, ring, grid or spiral."""
    side: Annotated[int, Field(ge=1, le=32)] = 5
    """Number of Gaussians along each side."""
    spacing: Annotated[float, Field(gt=0)] = 2.0
    """Distance between neighbouring Gaussians."""
    std: _Std = 0.05
    """Standard deviation of each Gaussian."""

    def density(self) -> GaussianMixture:
        line = [self.spacing * (place - (self.side - 1) / 2) for place in range(self.side)]
        return GaussianMixture([[x, y] for x in line for y in line], self.std)


@settings
class SpiralConfig(PointsConfig):
    """A spiral, as Gaussians close to each other along it."""

    distribution: Literal["spiral"] = "spiral"
    """Distribution of the data: gaussian, mixture, ring, grid or spiral."""
    turns: Annotated[float, Field(gt=0, le=20)] = 2.0
    """Number of turns."""
    radius: Annotated[float, Field(gt=0)] = 2.0
    """Distance of the outer end from the origin."""
    std: _Std = 0.1
    """Standard deviation of each Gaussian."""

    def density(self) -> GaussianMixture:
        """Equally far apart along the spiral, where r grows with the angle: r^2 grows evenly."""
        shares = [math.sqrt((place + 0.5) / 500) for place in range(500)]
        turn = 2 * math.pi * self.turns
        return GaussianMixture(
            [
                [self.radius * s * math.cos(turn * s), self.radius * s * math.sin(turn * s)]
                for s in shares
            ],
            self.std,
        )


AnyPointsConfig = GaussianConfig | MixtureConfig | RingConfig | GridConfig | SpiralConfig


class PointSamples:
    """Endless points: sample s of epoch e is always the same point with the same noise.

    steps: how many batches of points one update takes, one for each step of the discriminator.
    """

    def __init__(self, config: PointsConfig, seed: int, steps: int = 1) -> None:
        self.config, self.seed, self.steps = config, seed, steps
        self.density = config.density()
        self._drawn = (-1, torch.empty(0), torch.empty(0))

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        return np.split(np.arange(self._count), self.config.batches)

    @property
    def _count(self) -> int:
        return self.config.batches * self.config.batch_size * self.steps

    def collate(self, epoch: int, samples: Sequence[int]) -> AdversarialBatch:
        """Points, noise for the discriminator's steps, and other noise for the generator's."""
        points, noise = self._epoch(epoch)
        chosen = torch.as_tensor(samples)
        first, fresh = noise[chosen].chunk(2, 1)
        return AdversarialBatch(real=points[chosen], noise=first, fresh_noise=fresh)

    def _epoch(self, epoch: int) -> tuple[Tensor, Tensor]:
        """All points of an epoch and all noise, twice as wide as the generator takes."""
        if self._drawn[0] != epoch:
            config = self.config
            random = np.random.default_rng(derive_seed(self.seed, "points", epoch))
            points = torch.from_numpy(self.density.sample(self._count, random)).float()
            normal = random.standard_normal((self._count, 2 * config.noise_size), np.float32)
            self._drawn = (epoch, points, as_prior(torch.from_numpy(normal), config.prior))
        return self._drawn[1], self._drawn[2]
