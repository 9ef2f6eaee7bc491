"""Mixtures of Gaussians on a line or in a plane: data whose density is known everywhere."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
GOOD_DISTANCE = 3.0
"""Standard deviations from a mode within which a sample is a good one (Lin et al. 2018)."""


class GaussianMixture:
    """Gaussians that are equally likely, round, and of one standard deviation."""

    def __init__(self, means: Sequence[Sequence[float]], std: float) -> None:
        self.means, self.std = np.array(means, np.float64), std  # (M, D)

    @property
    def dimensions(self) -> int:
        return int(self.means.shape[1])

    def sample(self, count: int, random: np.random.Generator) -> Points:
        """(N, D)"""
        chosen = random.integers(len(self.means), size=count)
        return self.at(chosen, random.standard_normal((count, self.dimensions)))

    def at(self, modes: NDArray[np.int64], normal: Points) -> Points:
        """The samples of these modes, of standard normal numbers. (N,), (N, D) -> (N, D)"""
        found: Points = self.means[modes] + self.std * normal
        return found

    def log_density(self, points: Points) -> Points:
        """(N, D) -> (N,)"""
        exponents = -self._squares(points) / 2
        scale = len(self.means) * (np.sqrt(2 * np.pi) * self.std) ** self.dimensions
        found: Points = np.logaddexp.reduce(exponents, axis=1) - np.log(scale)
        return found

    def nearest(self, points: Points) -> tuple[NDArray[np.int64], Points]:
        """The nearest mode of each point, and its distance in standard deviations. (N,) each"""
        squares = self._squares(points)
        modes = squares.argmin(1)
        return modes, np.sqrt(squares[np.arange(len(points)), modes])

    def box(self, margin: float = 5.0) -> tuple[Points, Points]:
        """Corners between which nearly all of the density lies. (D,) each"""
        reach = margin * self.std
        return self.means.min(0) - reach, self.means.max(0) + reach

    def _squares(self, points: Points) -> Points:
        """Squared distances from the modes, in standard deviations. (N, D) -> (N, M)"""
        apart = (points[:, None, :] - self.means[None]) / self.std
        found: Points = np.square(apart).sum(-1)
        return found

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """On a line: where these shares of the density lie to the left."""
        low, high = (float(corner[0]) for corner in self.box(margin=9.0))
        places = np.linspace(low, high, 200_001)
        below = np.cumsum(np.exp(self.log_density(places[:, None])))
        return [float(place) for place in np.interp(shares, below / below[-1], places)]
