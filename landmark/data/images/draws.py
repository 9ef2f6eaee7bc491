"""Random numbers for a whole batch at once, each a function of (seed, epoch, sample) alone.

One generator a sample would cost more than cutting and mirroring it. So a number is made from its
key by the mixing step of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
number generators"), in numpy's 64-bit arithmetic, which wraps around as it should.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from landmark.core.runtime import derive_seed

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ROUNDS = 40  # of Jöhnk's method: half of them fail at worst


class Draws:
    """The draws of some samples in one epoch; every use has a name, and so numbers of its own."""

    def __init__(self, seed: int, epoch: int, samples: Sequence[int] | NDArray[np.int64]) -> None:
        self.seed, self.epoch = seed, epoch
        self.samples = np.asarray(samples, np.int64).astype(np.uint64)

    def uniform(self, use: str, count: int = 1) -> NDArray[np.float64]:
        """Numbers from 0 up to 1, a row a sample. (B, count)"""
        key = np.uint64(derive_seed(self.seed, "augment", use, self.epoch))
        rows = _mix(self.samples * _STEP + key)
        columns = np.arange(1, count + 1, dtype=np.uint64) * _STEP
        bits = _mix(rows[:, None] + columns)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def between(self, use: str, low: float, high: float) -> NDArray[np.float64]:
        """One number a sample. (B,)"""
        return low + (high - low) * self.uniform(use)[:, 0]

    def normal(self, use: str, count: int = 1) -> NDArray[np.float64]:
        """Numbers of the standard normal distribution, by Box and Muller. (B, count)"""
        radius, turn = np.split(self.uniform(use, 2 * count), 2, axis=1)
        normal: NDArray[np.float64] = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * turn)
        return normal

    def integers(self, use: str, highest: NDArray[np.int64]) -> NDArray[np.int64]:
        """A whole number from 0 to `highest`, for each sample its own. (B,)"""
        return (self.uniform(use)[:, 0] * (highest + 1)).astype(np.int64)

    def beta(self, use: str, alpha: float) -> NDArray[np.float64]:
        """Beta(alpha, alpha) for alpha up to 1, by Jöhnk's method (1964). (B,)"""
        logs = np.log1p(-self.uniform(use, 2 * _ROUNDS)) / alpha  # of u^(1/alpha)
        first, second = logs[:, :_ROUNDS], logs[:, _ROUNDS:]
        total = np.logaddexp(first, second)
        accepted = (total <= 0).argmax(axis=1)  # the first that is
        rows = np.arange(len(logs))
        share: NDArray[np.float64] = np.exp(first[rows, accepted] - total[rows, accepted])
        return share


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
