"""How a generator covers the modes of a mixture: mode collapse as numbers.

Srivastava et al. 2017 (VEEGAN, arXiv 1705.07761) and Lin et al. 2018 (PacGAN, arXiv 1712.04086): a
sample is good if it lies within three standard deviations of a mode; a mode is covered if a good
sample lies nearest to it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.metrics.divergence import jensen_shannon


@dataclass(frozen=True)
class ModeCoverage:
    """Of samples: which modes they cover, and how evenly."""

    modes: int
    covered: int
    good: float
    """Share of the samples that are near a mode."""
    reverse_kl: float
    """KL divergence of the good samples' modes from equal shares, in nats: log M for one mode."""
    mode_divergence: float
    """Both in one: the Jensen-Shannon divergence, in nats, of the shares of modes and of what is
    near none from equal shares of good samples.
    """


def cover_modes(
    nearest: NDArray[np.int64], distance: NDArray[np.float64], modes: int, within: float
) -> ModeCoverage:
    """nearest, distance: of each sample, its nearest mode, and how far away that is. (N,) each"""
    good = distance <= within
    counts = np.bincount(nearest[good], minlength=modes)
    shares = counts[counts > 0] / max(1, counts.sum())
    reverse = float((shares * np.log(shares * modes)).sum()) if len(shares) else float("inf")
    found = np.append(counts, (~good).sum()) / len(good)
    both = jensen_shannon(found, np.append(np.full(modes, 1 / modes), 0.0))
    return ModeCoverage(modes, int((counts > 0).sum()), float(good.mean()), reverse, both)
