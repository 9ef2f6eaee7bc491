"""Jensen-Shannon divergence, of samples from a known distribution or between two densities.

Lin 1991, "Divergence measures based on the Shannon entropy". In nats: 0 for the same distribution,
log 2 for two that never overlap.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def jensen_shannon(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Of two distributions over the same bins."""
    middle = (p + q) / 2
    return float((_relative(p, middle) + _relative(q, middle)) / 2)


def _relative(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """KL(p || q), where what p never gives does not count."""
    given = p > 0
    return float((p[given] * np.log(p[given] / q[given])).sum())


def density_divergence(
    log_p: NDArray[np.float64], log_q: NDArray[np.float64], step: float
) -> float:
    """Of two densities at points that are `step` apart and cover both (trapezoidal rule)."""
    p, q = np.exp(log_p) * step, np.exp(log_q) * step
    return jensen_shannon(p, q)


def histogram_divergence(samples: NDArray[np.float64], edges: Sequence[float]) -> float:
    """Of samples from a distribution whose quantiles the edges are: all bins are equally likely."""
    bins = len(edges) + 1
    counts = np.bincount(np.searchsorted(edges, samples), minlength=bins)
    return jensen_shannon(counts / len(samples), np.full(bins, 1 / bins))


def histogram_floor(samples: int, bins: int) -> float:
    """What it is on average where the samples are the distribution's own.

    Sum (q - p)^2 / p is (bins - 1) / samples on average, and the divergence an eighth of it.
    """
    return (bins - 1) / (8 * samples)
