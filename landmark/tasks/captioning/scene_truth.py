"""Captions of drawn scenes judged by what was drawn: are they true, and did attention find it?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.data.captions.corpus import CaptionDataConfig, scene_of
from landmark.data.captions.grammar import is_true, noun_object
from landmark.data.images.form import center_crop
from landmark.tasks.captioning.pipeline import CaptionWord


@dataclass(frozen=True)
class SceneTruth:
    """Shares of captions, and of nouns in true captions."""

    true: float
    """Captions that are true of their scene."""
    nouns: int
    """Nouns of true captions."""
    peaks: float
    """Nouns at which the place with the highest attention overlaps the object."""
    inside: float
    """Attention on places that overlap the object, mean over nouns."""
    chance: float
    """Places that overlap the object, mean over nouns: what a random place would have."""

    def lines(self) -> list[str]:
        return [
            f"{100 * self.true:.1f} % of captions are true of their scene",
            f"at {self.nouns:,} nouns of true captions, attention peaks on the object in "
            f"{100 * self.peaks:.1f} % (a random place: {100 * self.chance:.1f} %), and "
            f"{100 * self.inside:.1f} % of it lies there",
        ]


def judge_scenes(
    split: str,
    captions: Sequence[Sequence[CaptionWord]],
    config: CaptionDataConfig,
    side: int,
) -> SceneTruth:
    """Judge a caption of each scene of a split.

    `side`: pixels of what the network reads, the middle of an image.
    """
    found: list[tuple[float, float, float]] = []
    count = 0
    for number, words in enumerate(captions):
        text, scene = " ".join(word.text for word in words), scene_of(split, number, config)
        if not is_true(text, scene):
            continue
        count += 1
        for place, word in enumerate(words):
            mask = noun_object(text, place, scene, config.size)
            if mask is not None:
                seen = center_crop(mask[..., None].astype(np.uint8), side)[..., 0] > 0
                found.append(_look(word.attention, overlaps(seen, word.attention.shape)))
    peaks, inside, chance = np.array(found).reshape(-1, 3).mean(0) if found else (0.0, 0.0, 0.0)
    share = count / len(captions) if captions else 0.0
    return SceneTruth(share, len(found), float(peaks), float(inside), float(chance))


def _look(
    attention: NDArray[np.float32], on_object: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Whether the peak is on the object (of equal places: the share that is), how much attention
    is, and what share of the places."""
    peaks = attention >= attention.max() * (1 - 1e-6)
    weight = float(attention[on_object].sum() / attention.sum())
    return float(on_object[peaks].mean()), weight, float(on_object.mean())


def overlaps(mask: NDArray[np.bool_], grid: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which places of a grid over the image have a part of the mask. -> (rows, columns)"""
    rows, columns = (
        np.minimum(np.arange(length) * places // length, places - 1)
        for length, places in zip(mask.shape, grid, strict=True)
    )
    found = np.zeros(grid, bool)
    at = np.nonzero(mask)
    found[rows[at[0]], columns[at[1]]] = True
    return found
