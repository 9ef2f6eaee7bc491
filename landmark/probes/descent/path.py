"""The ways that methods of descent take on a surface, at rates that are searched for alike.

Each rate is chosen by one rule: of a logarithmic grid, and of the paths that never climb above
their start, the one that is first to stay below a thousandth of its first height; if none gets
there, the one that ends the lowest. (AdaGrad and Adam may leap tens of units away with their first
step and come back later: no such rate would be chosen for a network.)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.registry import Registry
from landmark.optim.methods.adadelta import AdaDelta
from landmark.optim.methods.adagrad import AdaGrad
from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.optim.methods.method import Method
from landmark.optim.methods.rmsprop import RMSProp
from landmark.probes.descent.surface import Place, Surface

MOMENTUM = 0.9
METHODS: Registry[Callable[..., Method]] = Registry("method")
_METHODS: dict[str, Callable[..., Method]] = {
    "sgd": GradientDescent,
    "momentum": partial(GradientDescent, momentum=MOMENTUM),
    "averaged-momentum": partial(GradientDescent, momentum=MOMENTUM, averaged=True),
    "nesterov": partial(GradientDescent, momentum=MOMENTUM, nesterov=True),
    "adagrad": AdaGrad,
    "rmsprop": partial(RMSProp, alpha=0.9),  # as published; torch's defaults are 0.99 and 0.9
    "adadelta": partial(AdaDelta, rho=0.95),
    "adam": Adam,
    "adamw": AdamW,
    "adamax": AdaMax,
    "amsgrad": AMSGrad,
}
for _name, _build in _METHODS.items():
    METHODS.add(_name, _build)

RATES_A_DECADE = 6
RATES = tuple(10 ** (power / RATES_A_DECADE) for power in range(-24, 19))
"""Of the search: from 1e-4 to 1e3."""
FAR = 1000.0
"""A path that is this many times as high as it began has diverged."""
NEAR = 0.001
"""A path has arrived where it stays below this share of its first height."""


@dataclass(frozen=True)
class DescentPath:
    """Where a method was before its first step and after each one, until it diverged."""

    method: str
    rate: float
    points: tuple[Place, ...]
    heights: tuple[float, ...]
    """Above the minimum."""
    arrived: int | None
    """The step from which on it stays near the minimum; None if it does not."""
    diverged: int | None
    """The step that led too far away, which is not shown; None if none did."""

    @property
    def end(self) -> float:
        """The highest point of the last tenth, for a path may just be swinging through a minimum.

        Infinite if it diverged.
        """
        if self.diverged is not None:
            return math.inf
        return max(self.heights[-max(1, len(self.heights) // 10) :])

    @property
    def climbs(self) -> bool:
        """Whether it is ever higher than where it began."""
        return self.diverged is not None or max(self.heights) > self.heights[0]


def walk(surface: Surface, method: str, rates: Sequence[float], steps: int) -> list[DescentPath]:
    """A path for each rate, from the surface's start.

    All are walked at once: the written-out methods move every number for itself, so a column of
    rates goes with a column of points, and a path that diverges troubles no other.
    """
    if not rates or not all(0 < rate < math.inf for rate in rates):
        raise UserError("rates are positive numbers: give at least one")
    points = nn.Parameter(torch.tensor([surface.start] * len(rates), dtype=torch.float64))
    optimizer = METHODS[method]([points], readable=True)
    optimizer.param_groups[0]["lr"] = torch.tensor(rates, dtype=torch.float64)[:, None]
    places, heights = [], []
    for step in range(steps + 1):
        height = surface.height(points)  # (R,)
        places.append(points.detach().clone())
        heights.append(height.detach() - surface.lowest)
        if step < steps:
            (points.grad,) = torch.autograd.grad(height.sum(), points)
            optimizer.step()
    tracks, levels = torch.stack(places, 1), torch.stack(heights, 1)  # (R, T, 2), (R, T)
    return [
        _path(method, rate, track, level)
        for rate, track, level in zip(rates, tracks, levels, strict=True)
    ]


def _path(method: str, rate: float, track: Tensor, level: Tensor) -> DescentPath:
    """A path up to where it is lost, if it is. track: (T, 2), level: (T,)"""
    lost = (~(level <= FAR * level[0])).nonzero()  # as what is not a number is too
    end = int(lost[0]) if len(lost) else len(level)
    far = (level > NEAR * level[0]).nonzero()
    arrived = None if len(lost) or far[-1] == end - 1 else int(far[-1]) + 1
    points = tuple((x, y) for x, y in track[:end].tolist())
    diverged = end if len(lost) else None
    return DescentPath(method, rate, points, tuple(level[:end].tolist()), arrived, diverged)


def best(paths: Sequence[DescentPath]) -> DescentPath:
    """The right path by the rule above; of equals, that of the smallest rate."""

    def badness(path: DescentPath) -> tuple[bool, float, float, float]:
        arrived = math.inf if path.arrived is None else path.arrived
        return path.climbs, arrived, path.end, path.rate

    return min(paths, key=badness)


@dataclass(frozen=True)
class RateSearch:
    """One method's paths by rate, and three of them that show what a rate does."""

    paths: tuple[DescentPath, ...]
    too_small: DescentPath
    """At a tenth of the right rate."""
    right: DescentPath
    too_large: DescentPath
    """At the smallest rate above the right one with which nothing is gained in the end."""


def search_rates(surface: Surface, method: str, steps: int) -> RateSearch:
    """Walk at all rates of the grid; the right one, one too small and one too large.

    Where the grid ends before a rate is too large, its last one stands in.
    """
    paths = walk(surface, method, RATES, steps)
    right = best(paths)
    place = paths.index(right)
    above = paths[place + 1 :] or [right]
    futile = [path for path in above if path.end >= path.heights[0]]
    too_small = paths[max(0, place - RATES_A_DECADE)]
    return RateSearch(tuple(paths), too_small, right, (futile or above[-1:])[0])
