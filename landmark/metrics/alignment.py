"""Alignment error rate: how far found word alignments are from the gold ones.

Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 6.
Sure links (S) must be found, possible ones (P, which include the sure) may be.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass

Link = tuple[int, int]
"""The places of a source word and of a target word, from 0."""


@dataclass(frozen=True)
class AlignmentScore:
    """Shares of 1, over all sentences together."""

    precision: float
    """|A n P| / |A|"""
    recall: float
    """|A n S| / |S|"""
    error_rate: float
    """AER = 1 - (|A n S| + |A n P|) / (|A| + |S|)"""
    sentences: int


def score_alignments(
    found: Iterable[Set[Link]],
    sure: Iterable[Set[Link]],
    possible: Iterable[Set[Link]] | None = None,
) -> AlignmentScore:
    """Compare sentence by sentence; without `possible`, all gold links are sure."""
    sure = list(sure)
    sizes = {"found": 0, "sure": 0, "found sure": 0, "found possible": 0}
    for links, musts, mays in zip(found, sure, sure if possible is None else possible, strict=True):
        sizes["found"] += len(links)
        sizes["sure"] += len(musts)
        sizes["found sure"] += len(links & musts)
        sizes["found possible"] += len(links & (musts | mays))
    right = sizes["found sure"] + sizes["found possible"]
    return AlignmentScore(
        _share(sizes["found possible"], sizes["found"]),
        _share(sizes["found sure"], sizes["sure"]),
        1 - _share(right, sizes["found"] + sizes["sure"]),
        len(sure),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0  # nothing to find, or nothing wrong
