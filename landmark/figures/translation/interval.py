"""Intervals about plotted values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landmark.metrics.translation import Score


def whiskers(scores: "Sequence[Score]") -> list[list[float]] | None:
    """How far the interval goes below and above each value: it lies about the resampled mean."""
    below, above = [], []
    for score in scores:
        if score.mean is None or score.interval is None:
            return None
        below.append(max(0.0, score.value - (score.mean - score.interval)))
        above.append(max(0.0, score.mean + score.interval - score.value))
    return [below, above]
