"""Generated points beside the density that they imitate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from landmark.data.density import GOOD_DISTANCE, GaussianMixture
from landmark.metrics.divergence import (
    density_divergence,
    histogram_divergence,
    histogram_floor,
)
from landmark.metrics.mode import ModeCoverage, cover_modes
from landmark.models.adversarial.perceptron import LinearGenerator

Points = NDArray[np.float64]
BINS = 50
"""Of a histogram, each of which the data falls into equally often."""
_PLACES = 20_001  # of a line, where two densities are compared


@dataclass(frozen=True)
class PointComparison:
    """What can be said of generated points."""

    divergence: float | None
    """Jensen-Shannon divergence in nats, on a line: of a histogram, or of known densities."""
    divergence_floor: float
    """What it is on average for as many points of the data; 0 where densities are compared."""
    coverage: ModeCoverage

    def metrics(self) -> dict[str, float]:
        """For the log of a training."""
        found = {
            "covered": float(self.coverage.covered),
            "good": self.coverage.good,
            "reverse_kl": self.coverage.reverse_kl,
            "mode_divergence": self.coverage.mode_divergence,
        }
        return found if self.divergence is None else {"divergence": self.divergence, **found}


def compare_points(
    made: Points, density: GaussianMixture, generator: nn.Module, prior: str
) -> PointComparison:
    """made: what the generator has made of noise. (N, D)"""
    nearest, distance = density.nearest(made)
    coverage = cover_modes(nearest, distance, len(density.means), GOOD_DISTANCE)
    if density.dimensions > 1:
        return PointComparison(None, 0.0, coverage)
    known = generated_density(generator, prior)
    if known is not None:
        return PointComparison(exact_divergence(density, known), 0.0, coverage)
    edges = density.quantiles([share / BINS for share in range(1, BINS)])
    found = histogram_divergence(made[:, 0], edges)
    return PointComparison(found, histogram_floor(len(made), BINS), coverage)


def generated_density(generator: nn.Module, prior: str) -> GaussianMixture | None:
    """What a generator's samples are drawn from, where that is known: a + b z of normal noise."""
    if not isinstance(generator, LinearGenerator) or prior != "normal":
        return None
    mean, std = generator.mean.item(), abs(generator.std.item())
    return GaussianMixture([[mean]], max(std, 1e-9))


def exact_divergence(one: GaussianMixture, other: GaussianMixture) -> float:
    """Of two densities on a line."""
    places = line_over(one, other)
    first, second = (density.log_density(places[:, None]) for density in (one, other))
    return density_divergence(first, second, float(places[1] - places[0]))


def line_over(*densities: GaussianMixture) -> Points:
    """Places on a line that cover all of these densities."""
    corners = [corner for density in densities for corner in density.box(margin=9.0)]
    found: Points = np.linspace(float(min(corners)[0]), float(max(corners)[0]), _PLACES)
    return found
