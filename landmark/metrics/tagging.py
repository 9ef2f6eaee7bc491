"""Tagging metrics: average precision of each tag over images, precision and recall of the best.

Average precision is the mean of the precisions at the ranks of a tag's images (as in TREC, and as
scikit-learn has it): images with equal scores share a rank, so a tagger that says the same of all
images gets the share of a tag's images, which is the baseline.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError

TOP = 5
"""How many tags of an image are counted."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class TagScore:
    """How well one tag was found."""

    name: str
    images: int
    """Images that have the tag."""
    average_precision: float
    chance: float
    """Share of the images that have the tag: the average precision of no knowledge."""


@dataclass(frozen=True)
class TaggingScores:
    """All scores on one set of images."""

    images: int
    mean_average_precision: float
    """Mean over the tags that some image has."""
    precision: float
    """Share of the `TOP` best tags of an image that it has."""
    recall: float
    """Share of an image's tags that are among the `TOP` best."""
    tags: tuple[TagScore, ...]


def average_precisions(scores: NDArray[np.floating], is_true: NDArray[np.bool_]) -> Numbers:
    """Of each tag; NaN where no image has it. (N, K), (N, K) -> (K,)"""
    if scores.shape != is_true.shape or not len(scores):
        raise UserError("there are no images to score")
    return np.array([_average_precision(*pair) for pair in zip(scores.T, is_true.T, strict=True)])


def _average_precision(scores: NDArray[np.floating], is_true: NDArray[np.bool_]) -> float:
    """sum over thresholds of (recall gained) * (precision there)."""
    if not is_true.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    is_last = np.append(ranked[1:] != ranked[:-1], True)  # of those with equal scores
    found = np.cumsum(is_true[order])[is_last]
    precision = found / (np.flatnonzero(is_last) + 1)
    gained = np.diff(found, prepend=0) / found[-1]
    return float(gained @ precision)


def best_tags(
    scores: NDArray[np.floating], is_true: NDArray[np.bool_], count: int = TOP
) -> tuple[float, float]:
    """Precision and recall of each image's best tags; an image without tags has no recall."""
    count = min(count, scores.shape[1])
    best = np.argsort(-scores, 1, kind="stable")[:, :count]
    right, there = np.take_along_axis(is_true, best, 1).sum(1), is_true.sum(1)
    recalls = right[there > 0] / there[there > 0]
    return float(right.mean() / count), float(recalls.mean()) if len(recalls) else 0.0


def score_tagging(
    scores: NDArray[np.floating], is_true: NDArray[np.bool_], names: tuple[str, ...]
) -> TaggingScores:
    """Scores of images' tags, higher is likelier, against those that they have. (N, K), (N, K)"""
    found, shares = average_precisions(scores, is_true), is_true.mean(0)
    there = ~np.isnan(found)
    if not there.any():
        raise UserError(f"none of the images has one of the {len(names):,} tags")
    rows = tuple(
        TagScore(names[k], int(is_true[:, k].sum()), float(found[k]), float(shares[k]))
        for k in np.flatnonzero(there)
    )
    precision, recall = best_tags(scores, is_true)
    return TaggingScores(len(scores), float(found[there].mean()), precision, recall, rows)
