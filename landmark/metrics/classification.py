"""Classification metrics: top-k accuracy, precision and recall per class, confusion matrix.

Intervals of 95 % are Wilson's (1927), which hold near 0 and 1 too, where bootstrapping few errors
does not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.errors import UserError
from landmark.metrics.understanding import IntervalScore

TOP = 5
"""How many guesses ImageNet's contest allowed."""
_NORMAL = 1.959963984540054  # 97.5 % of a normal distribution lie below


@dataclass(frozen=True)
class ClassScore:
    """How well one class was recognised."""

    name: str
    images: int
    precision: float
    """TP / (TP + FP)"""
    recall: float
    """TP / (TP + FN)"""
    f1: float
    mistaken_for: str = ""
    """Class that it is most often confused with; empty: none."""


@dataclass(frozen=True)
class ClassificationScores:
    """All scores on one set of images."""

    images: int
    scores: tuple[IntervalScore, ...]
    classes: tuple[ClassScore, ...]
    confusion: NDArray[np.int64]  # (K, K) [class, guess]


def count_top(scores: Tensor, labels: Tensor, count: int) -> int:
    """How many images have their class among the best `count`. (B, K), (B,)

    Scores that are equal to its own stand before it: a network that says the same of all classes
    knows none.
    """
    return int((places(scores, labels) < count).sum())


def places(scores: Tensor, labels: Tensor) -> Tensor:
    """How many other classes have a score at least as high as an image's own. (B, K) -> (B,)"""
    own = scores.gather(1, labels[:, None])
    return (scores >= own).sum(1) - 1


def score_classification(
    guesses: Sequence[int] | NDArray[np.int64],
    ranks: Sequence[int] | NDArray[np.int64],
    labels: Sequence[int] | NDArray[np.int64],
    names: Sequence[str],
) -> ClassificationScores:
    """From each image's best guess and its own class's place among the scores, 0 the first."""
    guess, rank = np.asarray(guesses, np.int64), np.asarray(ranks, np.int64)
    label = np.asarray(labels, np.int64)
    if not len(label):
        raise UserError("there are no images to score")
    scores = [_share(f"top-{k}", int((rank < k).sum()), len(rank)) for k in (1, TOP)]
    if len(names) <= TOP:
        scores = scores[:1]
    confusion = np.zeros((len(names), len(names)), np.int64)
    np.add.at(confusion, (label, guess), 1)
    rows = tuple(_class_score(number, confusion, names) for number in range(len(names)))
    return ClassificationScores(len(label), tuple(scores), rows, confusion)


def _class_score(number: int, confusion: NDArray[np.int64], names: Sequence[str]) -> ClassScore:
    right = int(confusion[number, number])
    there, called = int(confusion[number].sum()), int(confusion[:, number].sum())
    wrong = confusion[number].copy()
    wrong[number] = 0
    return ClassScore(
        names[number],
        there,
        right / called if called else 0.0,
        right / there if there else 0.0,
        2 * right / (there + called) if right else 0.0,
        names[int(wrong.argmax())] if wrong.any() else "",
    )


def _share(name: str, right: int, count: int) -> IntervalScore:
    return IntervalScore(name, right / count, *wilson(right, count))


def wilson(right: int, count: int) -> tuple[float, float]:
    """Between which two shares the true one lies, with 95 % confidence."""
    if not count:
        raise UserError("there is nothing to make an interval from")
    share, z = right / count, _NORMAL
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    below = 1 + z * z / count
    return max(0.0, (middle - spread) / below), min(1.0, (middle + spread) / below)
