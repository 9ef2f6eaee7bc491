"""Gradient descent against momentum in a ravine, as the lecture draws it.

The lecture's velocity is an average, V ← βV + (1 - β)g with a step of -αV: across the ravine
gradients of changing sign cancel in it, along the ravine they add up.
"""

from dataclasses import dataclass

from landmark.core.errors import UserError
from landmark.probes.descent.path import DescentPath, search_rates, walk
from landmark.probes.descent.surface import RAVINE_CURVATURES, SURFACES, Place

LARGEST_STABLE = 2 / max(RAVINE_CURVATURES)
"""Above this rate, plain gradient descent climbs out of the ravine: |1 - α · curvature| > 1."""


@dataclass(frozen=True)
class MomentumComparison:
    """Three paths from one place."""

    plain: DescentPath
    same_rate: DescentPath
    """Momentum at the rate of the plain path."""
    own_rate: DescentPath
    """Momentum at the rate that is right for it."""


def compare_momentum(rate: float | None, steps: int) -> MomentumComparison:
    """Both methods at one rate (default: 0.95 of the largest stable one), and momentum at its own.

    A path of momentum that the lecture's picture needs is of two steps at the least.
    """
    if steps < 2:
        raise UserError("steps: give at least 2")
    ravine = SURFACES["ravine"]
    rate = 0.95 * LARGEST_STABLE if rate is None else rate
    (plain,) = walk(ravine, "sgd", [rate], steps)
    (same,) = walk(ravine, "averaged-momentum", [rate], steps)
    return MomentumComparison(plain, same, search_rates(ravine, "averaged-momentum", steps).right)


def directions(path: DescentPath) -> list[Place]:
    """What each step follows: the gradient, or the velocity. A step is -α times that."""
    pairs = zip(path.points, path.points[1:], strict=False)
    return [((x - to_x) / path.rate, (y - to_y) / path.rate) for (x, y), (to_x, to_y) in pairs]
