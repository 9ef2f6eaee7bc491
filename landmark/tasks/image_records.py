"""Results that several tasks on images have: an image that was made, an image's features."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.data.images.decoding import Pixels
from landmark.data.images.montage import as_characters, square_rows, write_rows
from landmark.tasks.card import Result
from landmark.tasks.vectors import write_vectors


@dataclass(frozen=True, eq=False)
class MadeImage(Result):
    """An image that a model has made."""

    number: int
    pixels: Pixels

    def json(self) -> dict[str, Any]:
        return {"sample": self.number, "pixels": self.pixels.tolist()}

    def lines(self) -> list[str]:
        return [*as_characters(self.pixels), ""]


def write_grid(pipeline: Any, records: Sequence[MadeImage], options: Any, path: Path) -> None:
    """All images as one picture, about as high as it is wide."""
    write_rows(path, square_rows([record.pixels for record in records]))


@dataclass(frozen=True)
class Features(Result):
    """An image's features."""

    path: Path
    vector: NDArray[np.float32]

    def json(self) -> dict[str, Any]:
        return {"image": str(self.path), "vector": self.vector.tolist()}

    def lines(self) -> list[str]:
        return [json.dumps(self.json(), ensure_ascii=False)]


def write_features(pipeline: Any, records: Sequence[Features], options: Any, path: Path) -> None:
    """All vectors as one array, and beside it the images' names, a line each."""
    names = [str(record.path) for record in records]
    write_vectors(path, [record.vector for record in records], names, len(records[0].vector))
