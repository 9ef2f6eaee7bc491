"""Drawn scenes as a source of images with captions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.data.captions.description import describe
from landmark.data.captions.drawing import draw
from landmark.data.captions.scenes import COMPOSITIONAL, scene_of
from landmark.data.captions.source import NAMES, CaptionedSource
from landmark.data.images.decoding import Fitting, Pixels, fit_pixels

VERSION = 1
"""Of the scenes; raise it whenever a seed gives others."""
COUNTS = {"valid": 500, "test": 1000, COMPOSITIONAL: 1000}
"""Scenes of each split beside training."""
_SIDE = 64  # pixels of a scene whose size does not matter


@dataclass(frozen=True)
class SceneSource:
    """The first `count` scenes of a split, drawn when they are asked for."""

    split: str
    count: int
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.zeros(self.count, np.int64)

    def place(self, index: int) -> str:
        return f"scene {index + 1} of {self.split}"

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        side = fitting.size if isinstance(fitting.size, int) else _SIDE
        return fit_pixels(draw(scene_of(self.split, index, self.seed), side), fitting)


def scene_splits(count: int, seed: int) -> dict[str, CaptionedSource]:
    """All splits, with so many scenes to train on."""
    return {
        split: CaptionedSource(
            SceneSource(split, number, seed),
            [describe(scene_of(split, index, seed)) for index in range(number)],
        )
        for split, number in {"train": count, **COUNTS}.items()
    }
