"""Elo differences by the model of Bradley and Terry 1952, with intervals.

Hunter 2004, "MM algorithms for generalized Bradley-Terry models". A draw is half a win for each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ELO = 400 / math.log(10)
"""Elo points of one unit of log strength."""
_NORMAL_95 = 1.959964
_STEPS = 10_000


class Rating(NamedTuple):
    """Elo points beside the mean of all players, with a 95 % interval; infinite if all was won."""

    elo: float
    low: float
    high: float


def log_strengths(wins: np.ndarray) -> np.ndarray:
    """Maximum likelihood of the model; wins[i, j]: how often i beat j. Their mean is 0."""
    games = wins + wins.T
    won = wins.sum(1)
    strength = np.ones(len(wins))
    for _ in range(_STEPS):
        pairs = games / (strength[:, None] + strength[None, :])
        following = won / pairs.sum(1)
        following /= np.exp(np.log(np.maximum(following, 1e-300)).mean())
        if np.allclose(following, strength, rtol=1e-12, atol=0):
            break
        strength = following
    return np.asarray(np.log(strength))


def difference(won: float, lost: float) -> Rating:
    """How much stronger the winner of so many games is, in Elo; draws are half a game for each.

    The interval is Wilson's for the share of games won, which holds at the ends, too.
    """
    total = won + lost
    if total == 0:
        return Rating(0.0, -math.inf, math.inf)
    if won in (0, total):
        elo = math.inf if won else -math.inf
    else:
        strengths = log_strengths(np.array([[0.0, won], [lost, 0.0]]))
        elo = float(ELO * (strengths[0] - strengths[1]))
    low, high = wilson(won, total)
    return Rating(elo, _to_elo(low), _to_elo(high))


def wilson(won: float, total: float) -> tuple[float, float]:
    """A 95 % interval of a share (Wilson 1927)."""
    share, square = won / total, _NORMAL_95**2
    middle = (share + square / (2 * total)) / (1 + square / total)
    spread = math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    spread *= _NORMAL_95 / (1 + square / total)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def _to_elo(share: float) -> float:
    if share <= 1e-12:
        return -math.inf
    return math.inf if share >= 1 - 1e-12 else ELO * math.log(share / (1 - share))


def elo_ratings(wins: Sequence[Sequence[float]]) -> list[float]:
    """Elo of several players who met each other, around a mean of 0."""
    return [float(ELO * value) for value in log_strengths(np.asarray(wins, float))]
