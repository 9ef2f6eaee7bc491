"""Images with what a network takes them for, and with those like them: AlexNet's figure 4."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.data.images.decoding import Pixels
from landmark.plots.figure import save_figure
from landmark.tasks.image_classification.pipeline import Classified

_ACROSS = 4  # images in a row
_RIGHT, _OTHER = "#d1495b", "#7ba5c9"


def save_classified(
    classified: Sequence[Classified], path: Path, labels: Sequence[str | None]
) -> None:
    """Each image under its class, if that is known, with bars of the most probable ones.

    The right one's is red.
    """
    columns = min(_ACROSS, len(classified))
    rows = -(-len(classified) // columns)
    figure = Figure(figsize=(2.4 * columns, 3.6 * rows), layout="constrained")
    grid = figure.subplots(2 * rows, columns, squeeze=False, height_ratios=[2, 1] * rows)
    for axes in grid.flat:
        axes.set_axis_off()
    for number, one in enumerate(classified):
        row, column = divmod(number, columns)
        label = labels[number]
        draw_pixels(grid[2 * row, column], one.pixels, label or Path(one.place).name)
        _draw_guesses(grid[2 * row + 1, column], one, label)
    save_figure(figure, path)


def save_similar(rows: Sequence[tuple[Pixels, Sequence[tuple[Pixels, str]]]], path: Path) -> None:
    """An image at the left of each row, those like it behind, the nearest first."""
    columns = 1 + max(len(others) for _, others in rows)
    figure = Figure(figsize=(1.5 * columns, 1.7 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for line, (image, others) in zip(grid, rows, strict=True):
        draw_pixels(line[0], image, "")
        for axes, (other, title) in zip(line[1:], others, strict=False):
            draw_pixels(axes, other, title)
    save_figure(figure, path)


def draw_pixels(axes: Axes, pixels: Pixels, title: str) -> None:
    """An image without ticks. (H, W, C)"""
    shown = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_title(title, fontsize=8, parse_math=False)


def _draw_guesses(axes: Axes, one: Classified, label: str | None) -> None:
    """A bar a class, the best on top, with its name in it."""
    for place, guess in enumerate(one.guesses):
        colour = _RIGHT if guess.name == label else _OTHER
        axes.barh(place, guess.probability, color=colour, height=0.8)
        text = f"{guess.name}  {100 * guess.probability:.1f} %"
        axes.text(0.02, place, text, va="center", fontsize=8, parse_math=False)
    axes.set(xlim=(0, 1), ylim=(len(one.guesses) - 0.5, -0.5))
