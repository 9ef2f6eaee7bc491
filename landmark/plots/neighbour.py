"""Words and their neighbours in the plane in which their embeddings differ most."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from landmark.plots.figure import save_figure
from landmark.plots.gate import readable

_HALO = withStroke(linewidth=2, foreground="white")  # a name stays legible across a point


class Place(NamedTuple):
    """A word in the plane."""

    name: str
    x: float
    y: float
    group: int
    """Which of the given words it belongs to."""
    is_given: bool


def save_neighbours(
    places: Sequence[Place], shares: tuple[float, float], title: str, path: Path
) -> None:
    """A colour a given word, which is written bold; its neighbours around it."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots()
    for place in places:
        colour = f"C{place.group % 10}"
        axes.plot(place.x, place.y, "o", color=colour, markersize=8 if place.is_given else 4)
        text = axes.annotate(
            readable(place.name.strip(" ") or place.name),
            (place.x, place.y),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=11 if place.is_given else 8,
            fontweight="bold" if place.is_given else "normal",
            color=colour,
            path_effects=[_HALO],
        )
        text.set_parse_math(False)  # a "$" in a word is no formula
    axes.set(
        xlabel=f"first principal component ({shares[0]:.0%} of the variance)",
        ylabel=f"second ({shares[1]:.0%})",
    )
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.margins(0.12)
    axes.grid(alpha=0.3)
    save_figure(figure, path)
