"""Power laws of loss: L(x) = floor + (scale / x)^exponent, fitted to a few noisy points.

Kaplan et al. 2020, "Scaling Laws for Neural Language Models", arXiv 2001.08361, equations 1.1 and
1.2, which have no floor; with one, the irreducible loss, Henighan et al. 2020, arXiv 2010.14701.
As in Hoffmann et al. 2022, arXiv 2203.15556, the fit is the one with the least Huber loss between
logarithms, so that a single bad point does not bend it. Given the exponent, floor and factor are a
linear problem: exponents are searched on a grid that is made finer, the rest is solved for.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError

Array = NDArray[np.float64]
DRAWS = 400
_HUBER = 1e-3  # of a logarithm; beyond it, an error counts by its size and not by its square
_EXACT = 1e-5  # an error below this is none
_LEAST, _MOST = 1e-3, 4.0  # exponents looked at
_GRID, _ZOOMS, _ROUNDS = 48, 5, 25


@dataclass(frozen=True)
class PowerLaw:
    """L(x) = floor + (scale / x)^exponent."""

    exponent: float
    scale: float
    floor: float
    """What is left at any x; 0 where the points do not tell it."""

    def __call__(self, x: float) -> float:
        # By logarithms: a small exponent makes the scale astronomically large.
        return self.floor + math.exp(self.exponent * (math.log(self.scale) - math.log(x)))


@dataclass(frozen=True)
class Fit:
    """A power law, and between which values 90 % of its repetitions lie."""

    law: PowerLaw
    exponent_interval: tuple[float, float]
    floor_interval: tuple[float, float]
    error: float
    """Typical relative error of a point."""
    points: int


def fit_power_law(
    x: list[float],
    losses: list[float],
    with_floor: bool | None = None,
    draws: int = DRAWS,
    seed: int = 1,
) -> Fit:
    """Fit points; a floor (None) only if they are better explained by one, for their number.

    The spread comes from fits to the same points with the errors dealt out anew (bootstrap).
    """
    places, values = _check(x, losses)
    if with_floor is None:
        with_floor = _has_floor(places, values)
    needed = 4 if with_floor else 3
    if len(places) < needed:
        raise UserError(f"{len(places)} points are too few for a power law: {needed} are needed")
    floor, factor, exponent = (part[0] for part in _fit(places, values[None], with_floor))
    believed = floor + factor * np.exp(-exponent * places)
    errors = np.log(values) - np.log(believed)
    random = np.random.default_rng(seed)
    # So many parameters make errors look smaller than they are.
    freedom = math.sqrt(len(places) / max(1, len(places) - needed + 1))
    drawn = random.choice(errors - errors.mean(), (draws, len(places))) * freedom
    floors, _, exponents = _fit(places, believed * np.exp(drawn), with_floor)
    return Fit(
        PowerLaw(float(exponent), _scale(float(factor), float(exponent), x), float(floor)),
        _interval(exponents),
        _interval(floors),
        float(np.abs(errors).mean()) * freedom,
        len(places),
    )


def _check(x: list[float], losses: list[float]) -> tuple[Array, Array]:
    """Logarithms of x about their middle, and the losses; in double precision."""
    if len(x) != len(losses):
        raise ValueError(f"{len(x)} places, but {len(losses)} losses")
    places, values = np.array(x, np.float64), np.array(losses, np.float64)
    if not (np.isfinite(values).all() and (values > 0).all() and (places > 0).all()):
        raise UserError("a power law is fitted to losses and sizes above 0: some are not")
    if len(set(x)) < 2:
        raise UserError("a power law needs points at different places")
    logarithms = np.log(places)
    return logarithms - logarithms.mean(), values


def _scale(factor: float, exponent: float, x: list[float]) -> float:
    """(scale / x)^exponent = factor * exp(-exponent * (log x - middle))"""
    middle = float(np.log(np.array(x, np.float64)).mean())
    return math.exp(min(700.0, middle + math.log(max(factor, 1e-300)) / exponent))


def _interval(values: Array) -> tuple[float, float]:
    low, high = np.quantile(values, (0.05, 0.95))
    return float(low), float(high)


def _has_floor(places: Array, values: Array) -> bool:
    """Whether Akaike's criterion, corrected for few points, is for a floor.

    By absolute errors (as if they had Laplace's distribution): a bad point counts no more than in
    the fit.
    """
    scores = []
    for with_floor in (False, True):
        floor, factor, exponent = _fit(places, values[None], with_floor)
        believed = floor + factor * np.exp(-exponent * places)
        error = max(float(np.abs(np.log(values / believed)).mean()), _EXACT)
        count, parameters = len(values), 4 if with_floor else 3  # the size of the errors is one
        if count <= parameters + 1:
            return False
        penalty = 2 * parameters * count / (count - parameters - 1)
        scores.append(2 * count * math.log(error) + penalty)
    return scores[1] < scores[0]


def _fit(places: Array, values: Array, with_floor: bool) -> tuple[Array, Array, Array]:
    """Floor, factor and exponent of each row of losses. (n,), (B, n) -> 3 times (B,)"""
    low = np.full(len(values), math.log(_LEAST))
    high = np.full(len(values), math.log(_MOST))
    rows = np.arange(len(values))
    for _ in range(_ZOOMS):
        steps = np.linspace(0, 1, _GRID)
        grid = np.exp(low[:, None] + (high - low)[:, None] * steps)  # (B, G)
        floor, factor, cost = _solve(places, values, grid, with_floor)
        best = cost.argmin(1)
        width = (high - low) / (_GRID - 1)
        centre = np.log(grid[rows, best])
        low, high = centre - 1.5 * width, centre + 1.5 * width
    return floor[rows, best], factor[rows, best], grid[rows, best]


def _solve(
    places: Array, values: Array, exponents: Array, with_floor: bool
) -> tuple[Array, Array, Array]:
    """Floor and factor, neither below 0, for each exponent, and what the fit then costs.

    Huber's loss by weights that are made anew; each time a linear problem, as log L is linearised
    where it is. (n,), (B, n), (B, G) -> 3 times (B, G)
    """
    basis = np.exp(-exponents[..., None] * places)  # (B, G, n)
    truth = np.broadcast_to(values[:, None], basis.shape)
    believed, weights = truth, np.ones_like(basis)
    for _ in range(_ROUNDS):
        errors = np.log(believed / truth)
        size = np.maximum(np.abs(errors), _HUBER)
        weights = _HUBER / size / believed**2
        aim = believed * (1 - errors)
        floor, factor = _least_squares(basis, aim, weights, with_floor)
        believed = np.maximum(floor[..., None] + factor[..., None] * basis, 1e-9 * truth)
    errors = np.abs(np.log(believed / truth))
    is_small = errors <= _HUBER
    cost = np.where(is_small, errors**2 / 2, _HUBER * (errors - _HUBER / 2)).sum(-1)
    return floor, factor, cost


def _least_squares(
    basis: Array, aim: Array, weights: Array, with_floor: bool
) -> tuple[Array, Array]:
    """floor + factor * basis as near to the aim as it gets, neither of them below 0."""
    alone = (weights * basis * aim).sum(-1) / (weights * basis**2).sum(-1)
    if not with_floor:
        return np.zeros_like(alone), np.maximum(alone, 0)
    total = weights.sum(-1)
    mean_basis = (weights * basis).sum(-1) / total
    mean_aim = (weights * aim).sum(-1) / total
    away = basis - mean_basis[..., None]
    spread = np.maximum((weights * away**2).sum(-1), 1e-300)
    factor = (weights * away * (aim - mean_aim[..., None])).sum(-1) / spread
    floor = mean_aim - factor * mean_basis
    factor = np.where(floor < 0, np.maximum(alone, 0), factor)
    floor = np.maximum(floor, 0)
    return np.where(factor < 0, mean_aim, floor), np.maximum(factor, 0)
