"""The worst mistakes of an image classifier, for `landmark evaluate --mistakes`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.images.classified import draw_pixels

if TYPE_CHECKING:
    from landmark.data.images.decoding import Pixels

_MOST = 24  # images that are drawn
_ACROSS = 6
_LETTERS = 20  # of a class's name, that a panel has room for


@dataclass(frozen=True)
class Mistake:
    """A misclassified image."""

    pixels: "Pixels"
    label: str
    guess: str
    probability: float
    """Of the wrong class."""
    own: float
    """Of the right class."""


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """The most confident mistakes of the first set that `landmark evaluate` has scored."""
    first, names = records[0], pipeline.form.names
    found = first.predictions
    wrong = found.mistakes()
    mistakes = [
        Mistake(
            found.images[int(found.indices[one])],
            names[found.labels[one]],
            names[found.guesses[one]],
            float(found.probabilities[one]),
            float(found.own[one]),
        )
        for one in wrong[:_MOST].tolist()
    ]
    heading = f"{Path(first.run).name}: {first.name}, {len(wrong):,} of {len(found.indices):,} "
    heading += "images misclassified"
    if len(wrong) > len(mistakes):
        heading += f"; the {len(mistakes)} with the most probable wrong class"
    save_mistakes(mistakes, heading, path)


def save_mistakes(mistakes: Sequence[Mistake], heading: str, path: Path) -> None:
    """Each image under what it was taken for, and what it is."""
    figure, panels = style.tiles(max(3, len(mistakes)), _ACROSS, size=(1.9, 2.3))
    for axes in panels[len(mistakes) :]:
        axes.set_axis_off()
    for axes, mistake in zip(panels, mistakes, strict=False):
        draw_pixels(axes, mistake.pixels, "")
        said = f"{style.shorten(mistake.guess, _LETTERS)} ({100 * mistake.probability:.0f} %)"
        known = f"{style.shorten(mistake.label, _LETTERS)} ({100 * mistake.own:.0f} %)"
        axes.set_title(f"predicted: {said}\ntrue: {known}", fontsize=7, parse_math=False)
    style.heading(figure, heading)
    save_picture(figure, path)
