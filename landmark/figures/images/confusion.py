"""The confusion matrix, for `landmark evaluate --confusion`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.figures import style
from landmark.figures.figure import save_picture

_MOST_NAMED = 60  # classes whose names can still be read
_MOST_WRITTEN = 20  # classes whose counts can still be read
_DARK = 0.5


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """Of the first set that `landmark evaluate` has scored."""
    first = records[0]
    title = f"{Path(first.run).name}: {first.name}"
    save_confusion(first.result.confusion, pipeline.form.names, title, path)


def save_confusion(
    confusion: NDArray[np.int64], names: Sequence[str], title: str, path: Path
) -> None:
    """A row a class, a column a guess; dark is a large share of the row. (K, K)"""
    count = len(names)
    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    side = max(4.0, min(14.0, 2 + 0.4 * count))
    figure, grid = style.panels(size=(side + 0.8, side))
    axes = grid[0, 0]
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if count <= _MOST_NAMED:
        axes.set_xticks(range(count), names, rotation=90, parse_math=False)
        axes.set_yticks(range(count), names, parse_math=False)
    if count <= _MOST_WRITTEN:
        for row, column in zip(*np.nonzero(confusion), strict=True):
            colour = "white" if shares[row, column] > _DARK else "black"
            number = f"{confusion[row, column]}"
            axes.text(column, row, number, ha="center", va="center", fontsize=7, color=colour)
    axes.set(xlabel="taken for", ylabel="class")
    style.heading(figure, title)
    figure.colorbar(image, label="share of the class")
    save_picture(figure, path)
