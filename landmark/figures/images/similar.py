"""Images with those similar to them, as AlexNet's figure 4: `landmark similar --figure`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.images.classified import draw_pixels

if TYPE_CHECKING:
    from landmark.data.images.decoding import Pixels

_LETTERS = 20  # of a name, that a panel has room for


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """What `landmark similar` found."""
    rows = [
        (
            pipeline.read(record.path),
            [(pipeline.read(near.path), near.path.name) for near in record.neighbours],
        )
        for record in records
    ]
    save_similar(rows, path)


def save_similar(rows: "Sequence[tuple[Pixels, Sequence[tuple[Pixels, str]]]]", path: Path) -> None:
    """An image at the left of each row, those like it behind, the nearest first."""
    columns = 1 + max(len(others) for _, others in rows)
    figure, grid = style.panels(len(rows), columns, size=(1.5, 1.7))
    for axes in grid.flat:
        axes.set_axis_off()
    for line, (image, others) in zip(grid, rows, strict=True):
        draw_pixels(line[0], image, "")
        for axes, (other, title) in zip(line[1:], others, strict=False):
            draw_pixels(axes, other, title, _LETTERS)
    save_picture(figure, path)
