"""Accuracy against operations against parameters, as in Canziani et al. 2016, arXiv 1605.07678."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.network import CountedNetwork

_AREA_OF_A_MILLION = 12.0  # square points
_LEGEND = (5, 25, 75, 150)  # millions of parameters
_LINE = 9.0  # points from a name to one that had to give way
_HALO = withStroke(linewidth=2, foreground="white")


def save_comparison(networks: Sequence[CountedNetwork], path: Path) -> None:
    """A circle a network, as large as its parameters are many; top-1 on the left, top-5 right."""
    figure, grid = style.panels(1, 2, size=(7.5, 7))
    left, right = grid[0]
    families = dict.fromkeys(entry.system.name for entry in networks)
    colors = {family: style.colour(number) for number, family in enumerate(families)}
    for axes, top in ((left, 1), (right, 5)):
        _draw(axes, networks, top, colors)
    left.legend(
        handles=[
            Line2D([], [], marker="o", linestyle="", color=color, label=family)
            for family, color in colors.items()
        ],
        fontsize=9,
        loc="lower right",
    )
    _explain_areas(right)
    style.heading(
        figure,
        "ImageNet: published accuracy of single networks against operations and parameters "
        "counted here (papers did not measure alike)",
    )
    save_picture(figure, path)


def accuracy(entry: CountedNetwork, top: int) -> float | None:
    """Published, in percent."""
    if entry.network.error is None:
        return None
    error = entry.network.error.top1 if top == 1 else entry.network.error.top5
    return None if error is None else 100 - error


def _draw(axes: Axes, networks: Sequence[CountedNetwork], top: int, colors: dict[str, str]) -> None:
    named = [(entry, value) for entry in networks if (value := accuracy(entry, top)) is not None]
    for family, color in colors.items():
        own = [(entry.anatomy, value) for entry, value in named if entry.system.name == family]
        axes.scatter(
            [anatomy.macs for anatomy, _ in own],
            [value for _, value in own],
            [_AREA_OF_A_MILLION * anatomy.parameters / 1e6 for anatomy, _ in own],
            color=color,
            alpha=0.45,
            edgecolors=color,
            label=family,
        )
    axes.set_ylabel(f"top-{top} accuracy as published, %")
    style.title(axes, f"top-{top}")
    _scale(axes)
    _name(axes, named)


def _name(axes: Axes, named: Sequence[tuple[CountedNetwork, float]]) -> None:
    """From above, each name on its circle, or below a name that is there already."""
    low, high = axes.get_ylim()
    line = (high - low) / 40  # the height of a name
    taken: list[tuple[float, float]] = []
    for entry, value in sorted(named, key=lambda pair: -pair[1]):
        place = math.log10(entry.anatomy.macs)
        lines = 0
        while any(abs(place - x) < 0.25 and abs(value - lines * line - y) < line for x, y in taken):
            lines += 1
        taken.append((place, value - lines * line))
        label = axes.annotate(
            entry.network.name, (entry.anatomy.macs, value), (0, -lines * _LINE),
            textcoords="offset points", ha="center", va="center", fontsize=8, path_effects=[_HALO],
        )  # fmt: skip
        label.set_parse_math(False)


def _explain_areas(axes: Axes) -> None:
    """What the circles' areas mean."""
    circles = [
        axes.scatter([], [], _AREA_OF_A_MILLION * size, color="0.6", label=f"{size}M parameters")
        for size in _LEGEND
    ]
    axes.legend(
        handles=circles,
        fontsize=9,
        loc="lower right",
        labelspacing=3.2,
        borderpad=2.2,
        handletextpad=2.0,
    )


def _scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("multiply-accumulates for one image")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.margins(0.12)
    axes.grid(alpha=0.3)
