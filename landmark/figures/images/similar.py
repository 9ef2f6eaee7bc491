"""Images with those similar to them, as AlexNet's figure 4: `landmark similar --figure`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.images.classified import draw_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from landmark.data.images.decoding import Pixels

_ACROSS = 6  # neighbours in a row, at most
_LETTERS = 20  # of a name, that a panel has room for
_QUERY = style.colour(1)


@dataclass(frozen=True)
class Shown:
    """An image as the figure shows it."""

    pixels: "Pixels"
    name: str
    folder: str = ""
    """The class or the folder that it lies in, if that says something."""
    distance: float | None = None
    """From the query; None of the query itself."""

    def title(self) -> str:
        head = "query" if self.distance is None else f"distance {self.distance:.3f}"
        names = [style.shorten(name, _LETTERS) for name in (self.folder, self.name) if name]
        return "\n".join([head, *names])


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """What `landmark similar` found."""

    def folder(image: Path) -> str:
        """A folder that is named after a class, or below the one that was searched."""
        parent = image.resolve().parent
        if parent.name in pipeline.form.names:
            return f"class {parent.name}"
        return f"folder {parent.name}" if options.among.resolve() in parent.parents else ""

    rows = [
        (
            Shown(pipeline.read(record.path), record.path.name, folder(record.path)),
            [
                Shown(pipeline.read(near.path), near.path.name, folder(near.path), near.distance)
                for near in record.neighbours
            ],
        )
        for record in records
    ]
    save_similar(rows, path)


def save_similar(rows: Sequence[tuple[Shown, Sequence[Shown]]], path: Path) -> None:
    """A framed query at the left, and those like it in rows behind it, the nearest first."""
    most = max(len(found) for _, found in rows)
    most_lines = max(1, -(-most // _ACROSS))
    across = max(1, -(-most // most_lines))  # all rows as full as can be
    lines = [max(1, -(-len(found) // across)) for _, found in rows]
    figure, grid = style.panels(sum(lines), 1 + across, size=(1.6, 2.1))
    for axes in grid.flat:
        axes.set_axis_off()
    first = 0
    for (query, found), height in zip(rows, lines, strict=True):
        _draw(grid[first, 0], query)
        for number, one in enumerate(found):
            row, column = divmod(number, across)
            _draw(grid[first + row, 1 + column], one)
        first += height
    style.heading(figure, "Nearest images by Euclidean distance of the last hidden layer")
    save_picture(figure, path)


def _draw(axes: "Axes", one: Shown) -> None:
    """An image under its names; a query in a frame."""
    draw_pixels(axes, one.pixels, "")
    is_query = one.distance is None
    axes.set_title(
        one.title(), fontsize=7, parse_math=False,
        fontweight="bold" if is_query else "normal", color=_QUERY if is_query else "black",
    )  # fmt: skip
    if is_query:
        axes.set(xticks=[], yticks=[], frame_on=True)
        axes.set_axis_on()
        axes.spines[:].set(color=_QUERY, linewidth=3)
