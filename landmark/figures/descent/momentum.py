"""The lecture's picture of gradient descent against momentum in a ravine, and what steps follow."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.figures.descent.film import Trace
    from landmark.probes.descent.momentum import MomentumComparison
    from landmark.probes.descent.path import DescentPath


@settings
class Options:
    """At which rate."""

    rate: float | None = None
    """Learning rate of both methods; default: almost too large for plain gradient descent."""
    steps: Annotated[int, Field(ge=2, le=100_000)] = 60
    """Number of steps."""
    output: Path = Path("momentum.png")
    """Output file; .gif makes an animation."""


@dataclass(frozen=True)
class Momentum:
    """Three paths from one place."""

    steps: int
    comparison: "MomentumComparison"

    @property
    def shown(self) -> "dict[str, DescentPath]":
        return {
            "gradient descent": self.comparison.plain,
            "momentum, the same rate": self.comparison.same_rate,
            "momentum, its own rate": self.comparison.own_rate,
        }

    def json(self) -> dict[str, Any]:
        return {"steps": self.steps, **plain(self.comparison)}


def compute(options: Options, report: Report) -> Momentum:
    """Walk with and without momentum."""
    from landmark.probes.descent.momentum import compare_momentum

    return Momentum(options.steps, compare_momentum(options.rate, options.steps))


def table(record: Momentum) -> list[str]:
    """The three paths."""
    from landmark.figures.descent.surface import path_lines

    return path_lines("ravine", record.shown.items())


def draw(record: Momentum) -> "Figure":
    """The ravine with three paths above; below, the direction of each step across and along it."""
    return _trace(record)[0]


def film(record: Momentum) -> bytes:
    """How the paths grow."""
    from landmark.figures.descent.film import film_of

    return film_of(*_trace(record))


def _trace(record: Momentum) -> "tuple[Figure, list[Trace]]":
    from matplotlib.figure import Figure

    from landmark.figures.descent.surface import draw_surface, trace_path
    from landmark.probes.descent.surface import SURFACES

    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplot_mosaic("PP;AL", height_ratios=(3, 2))
    draw_surface(panels["P"], SURFACES["ravine"])
    colours = dict(zip(record.shown, (style.COLOURS[6], *style.COLOURS[:2]), strict=True))
    traces: list[Trace] = []
    for name, path in record.shown.items():
        label = f"{name}  {path.rate:.2g}"
        traces.append(trace_path(panels["P"], path, colours[name], "-", label))
    for axis, panel, where in ((1, "A", "across the ravine"), (0, "L", "along the ravine")):
        for name, path in record.shown.items():
            traces.append(_trace_directions(panels[panel], path, axis, colours[name]))
        panels[panel].axhline(0, color="0.6", linewidth=0.8)
        style.tidy(panels[panel])
        panels[panel].set(xlabel="step", ylabel=f"{'xy'[axis]} of what the step follows")
        style.title(panels[panel], f"gradient or velocity {where}")
    style.heading(figure, "Gradient descent and momentum in a ravine, with their learning rates")
    figure.legend(
        *panels["P"].get_legend_handles_labels(), loc="outside lower center", ncols=3,
        fontsize=9, frameon=False,
    )  # fmt: skip
    return figure, traces


def _trace_directions(axes: "Axes", path: "DescentPath", axis: int, colour: str) -> "Trace":
    from landmark.figures.descent.film import trace
    from landmark.probes.descent.momentum import directions

    values = [direction[axis] for direction in directions(path)]
    return trace(axes, range(1, len(values) + 1), values, colour, "-", "")
