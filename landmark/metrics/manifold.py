"""How good samples are and how much of the data they cover, by balls around features.

Precision and recall: Kynkäänniemi et al. 2019, "Improved Precision and Recall Metric for Assessing
Generative Models", arXiv 1904.06991. Density and coverage: Naeem et al. 2020, "Reliable Fidelity
and Diversity Metrics for Generative Models", arXiv 2002.09797. A ball around a feature vector
reaches to its k-th nearest neighbour of the same set.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

PRECISION_NEIGHBOURS, DENSITY_NEIGHBOURS = 3, 5
"""Neighbours as in the two papers."""


@dataclass(frozen=True)
class ManifoldScores:
    """Each is 1, on average or at most, where both sets are of one distribution."""

    precision: float
    """Share of samples that lie in some ball of the data."""
    recall: float
    """Share of the data that lies in some ball of the samples."""
    density: float
    """In how many balls of the data a sample lies, over k; may exceed 1."""
    coverage: float
    """Share of the data whose ball holds a sample."""


def compare_manifolds(real: Tensor, made: Tensor) -> ManifoldScores:
    """Scores of made features beside real ones. (N, F), (M, F)"""
    between = torch.cdist(real.double(), made.double())  # (N, M)
    real_distances, made_distances = _neighbours(real), _neighbours(made)
    near = PRECISION_NEIGHBOURS - 1, DENSITY_NEIGHBOURS - 1
    precision = (between <= real_distances[:, near[0], None]).any(0).double().mean()
    recall = (between <= made_distances[None, :, near[0]]).any(1).double().mean()
    within = between <= real_distances[:, near[1], None]
    density = within.double().sum(0).mean() / DENSITY_NEIGHBOURS
    coverage = within.any(1).double().mean()
    return ManifoldScores(*(float(score) for score in (precision, recall, density, coverage)))


def _neighbours(features: Tensor) -> Tensor:
    """Distances of each vector from its nearest others, in order. (N, k)"""
    distances = torch.cdist(features.double(), features.double())
    distances.fill_diagonal_(torch.inf)
    return distances.topk(DENSITY_NEIGHBOURS, largest=False).values


def smallest_set() -> int:
    """The fewest vectors of a set that these scores can be taken of."""
    return DENSITY_NEIGHBOURS + 1
