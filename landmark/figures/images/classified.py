"""Images with their most probable classes, as AlexNet's figure 4: `landmark classify --figure`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.figures import style
from landmark.figures.figure import save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from landmark.data.images.decoding import Pixels

_ACROSS = 4  # images in a row
_LETTERS = 26  # of a name, that a panel has room for
_RIGHT, _OTHER = style.COLOURS[4], style.COLOURS[5]


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """What `landmark classify` found; the name of an image's folder may be its class."""
    pixels = [pipeline.read(one.place) for one in records]
    labels = [_label(one.place, pipeline.form.names) for one in records]
    save_classified(records, pixels, path, labels)


def _label(place: str, names: Sequence[str]) -> str | None:
    """The class of an image that lies in a folder of that name."""
    name = Path(place).resolve().parent.name
    return name if name in names else None


def save_classified(
    classified: Sequence[Any],
    pixels: "Sequence[Pixels]",
    path: Path,
    labels: Sequence[str | None],
) -> None:
    """Each image under its class, if that is known, with bars of the most probable ones.

    classified: with `place` and `guesses`, each a name and a probability.
    """
    from matplotlib.patches import Patch

    columns = min(_ACROSS, len(classified))
    rows = -(-len(classified) // columns)
    figure, grid = style.panels(
        2 * rows, columns, size=(2.4, 1.8), height_ratios=[2, 1] * rows
    )  # fmt: skip
    for axes in grid.flat:
        axes.set_axis_off()
    for number, one in enumerate(classified):
        row, column = divmod(number, columns)
        label = labels[number]
        draw_pixels(grid[2 * row, column], pixels[number], label or Path(one.place).name)
        _draw_guesses(grid[2 * row + 1, column], one.guesses, label)
    if any(label is not None for label in labels):
        named = {"the right class": _RIGHT, "another": _OTHER}
        figure.legend(
            handles=[Patch(color=colour, label=name) for name, colour in named.items()],
            loc="outside lower center", ncols=2, fontsize=8, frameon=False,
        )  # fmt: skip
    save_picture(figure, path)


def draw_pixels(axes: "Axes", pixels: "Pixels", title: str) -> None:
    """An image without ticks. (H, W, C)"""
    shown = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    axes.set_axis_off()
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_title(style.shorten(title, _LETTERS), fontsize=8, parse_math=False)


def _draw_guesses(axes: "Axes", guesses: Sequence[Any], label: str | None) -> None:
    """A bar a class, the best on top, with its name in it."""
    for place, guess in enumerate(guesses):
        colour = _RIGHT if guess.name == label else _OTHER
        axes.barh(place, guess.probability, color=colour, height=0.8)
        said = f"{style.shorten(guess.name, _LETTERS)}  {100 * guess.probability:.1f} %"
        text = axes.text(0.02, place, said, va="center", fontsize=8, parse_math=False)
        text.set_in_layout(False)  # a long name must not make the bars shorter
    axes.set(xlim=(0, 1), ylim=(len(guesses) - 0.5, -0.5))
