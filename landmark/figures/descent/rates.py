"""The effect of the learning rate: too small, right and too large."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.figures.descent.film import Trace
    from landmark.probes.descent.path import DescentPath, RateSearch
    from landmark.probes.descent.surface import Surface

_COLOURS = {
    "too small": style.colour(0), "right": style.colour(2), "too large": style.colour(1),
}  # fmt: skip


@settings
class Options:
    """Which method, on which surface."""

    method: Annotated[str, Positional("METHOD")] = "sgd"
    """sgd, momentum, adam, …; default: sgd."""
    surface: str = "ravine"
    """ravine, saddle, rosenbrock or beale."""
    steps: Annotated[int, Field(ge=2, le=100_000)] = 200
    """Number of steps."""
    output: Path = Path("rates.png")
    """Output file; .gif makes an animation."""


@dataclass(frozen=True)
class Rates:
    """What every method reaches with every rate, and one method's paths at three rates."""

    surface: str
    method: str
    steps: int
    searches: "dict[str, RateSearch]"

    @property
    def shown(self) -> "dict[str, DescentPath]":
        search = self.searches[self.method]
        return {
            "too small": search.too_small, "right": search.right, "too large": search.too_large,
        }  # fmt: skip

    def json(self) -> dict[str, Any]:
        ends = {
            name: [[path.rate, None if path.diverged else path.end] for path in found.paths]
            for name, found in self.searches.items()
        }
        return {
            "surface": self.surface, "method": self.method, "steps": self.steps,
            "shown": plain(self.shown), "ends": ends,
        }  # fmt: skip


def compute(options: Options, report: Report) -> Rates:
    """Search the rates of all methods."""
    from landmark.probes.descent.path import METHODS, search_rates
    from landmark.probes.descent.surface import SURFACES

    METHODS[options.method]  # says what is near
    ground = SURFACES[options.surface]
    searches = {name: search_rates(ground, name, options.steps) for name in METHODS}
    return Rates(options.surface, options.method, options.steps, searches)


def table(record: Rates) -> list[str]:
    """The three paths."""
    from landmark.figures.descent.surface import path_lines

    return path_lines(f"{record.method}, {record.surface}", record.shown.items())


def draw(record: Rates) -> "Figure":
    """One method's paths at three rates, their heights, and every method's heights by rate."""
    return _trace(record)[0]


def film(record: Rates) -> bytes:
    """How the paths grow."""
    from landmark.figures.descent.film import film_of

    return film_of(*_trace(record))


def _trace(record: Rates) -> "tuple[Figure, list[Trace]]":
    from matplotlib.figure import Figure

    from landmark.figures.descent.surface import (
        draw_surface,
        finish_heights,
        trace_heights,
        trace_path,
    )
    from landmark.probes.descent.surface import SURFACES

    figure = Figure(figsize=(13, 7), layout="constrained")
    panels = figure.subplot_mosaic("AAAABBBBCCCC;HHH000111222")
    surface = SURFACES[record.surface]
    traces: list[Trace] = []
    for (word, walked), panel in zip(record.shown.items(), "ABC", strict=True):
        colour = _COLOURS[word]
        draw_surface(panels[panel], surface)
        lost = "" if walked.diverged is None else f", diverges at step {walked.diverged}"
        style.title(panels[panel], f"{word}: {walked.rate:.2g}{lost}")
        traces.append(trace_path(panels[panel], _within(walked, surface), colour, "-", ""))
        label = f"{word}: {walked.rate:.2g}"
        traces.append(trace_heights(panels["H"], walked, colour, "-", label))
    finish_heights(panels["H"])
    style.title(panels["H"], f"{record.method}: height above the minimum by step")
    style.add_legend(panels["H"], outside=True)
    _draw_searches([panels[name] for name in "012"], record)
    style.heading(figure, f"{record.method} on the surface {record.surface}, by learning rate")
    return figure, traces


def _within(path: "DescentPath", surface: "Surface") -> "DescentPath":
    """A path up to where it leaves the picture for more than a picture's size, to be lost there."""
    left, right, bottom, top = surface.window
    for step, (x, y) in enumerate(path.points):
        wide, high = right - left, top - bottom
        if not (left - wide < x < right + wide and bottom - high < y < top + high):
            return dataclasses.replace(path, points=path.points[: step + 1])
    return path


def _draw_searches(panels: "list[Axes]", record: Rates) -> None:
    """Where each method ends, by rate; a line stops where its path diverges."""
    from landmark.figures.descent.surface import FAMILIES, STYLES

    for axes in panels[1:]:
        axes.sharex(panels[0])
        axes.sharey(panels[0])
    for axes, (family, names) in zip(panels, FAMILIES.items(), strict=True):
        for name in names:
            colour, line = STYLES[name]
            paths = record.searches[name].paths
            axes.plot(
                [walked.rate for walked in paths],
                [_drawn(walked.end) for walked in paths],
                color=colour,
                linestyle=line,
                linewidth=3.2 if name == record.method else 1.4,
                label=name,
            )
        axes.set(xscale="log", yscale="log", xlabel="learning rate")
        style.title(axes, family)
        style.tidy(axes)
        style.add_legend(axes, outside=True)
    panels[0].set_ylabel("highest of the last tenth of steps")


def _drawn(height: float) -> float:
    from landmark.figures.descent.surface import LOWEST_SHOWN

    return max(height, LOWEST_SHOWN) if math.isfinite(height) else math.nan
