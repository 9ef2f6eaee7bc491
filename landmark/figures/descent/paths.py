"""The paths that optimisers take on surfaces, and how deep they are at each step."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.figures.descent.film import Trace
    from landmark.probes.descent.path import DescentPath


@settings
class Options:
    """Which surfaces, which methods."""

    surfaces: Annotated[tuple[str, ...], Positional("SURFACE")] = ()
    """ravine, saddle, rosenbrock or beale; default: all."""
    method: tuple[str, ...] = ()
    """sgd, momentum, adam, …, repeatable; default: all."""
    rate: float | None = None
    """Learning rate of all methods; default: the best for each, found by a search."""
    steps: Annotated[int, Field(ge=2, le=100_000)] = 200
    """Number of steps."""
    output: Path = Path("paths.png")
    """Output file; .gif makes an animation."""


@dataclass(frozen=True)
class Paths:
    """The paths on each surface, one a method."""

    steps: int
    paths: "dict[str, list[DescentPath]]"


def compute(options: Options, report: Report) -> Paths:
    """Walk every method over every surface."""
    from landmark.probes.descent.path import METHODS, search_rates, walk
    from landmark.probes.descent.surface import SURFACES

    chosen = [SURFACES[name] for name in dict.fromkeys(options.surfaces or SURFACES)]
    methods = list(dict.fromkeys(options.method or METHODS))
    for name in methods:
        METHODS[name]  # says what is near
    rate, steps = options.rate, options.steps
    walked = {
        surface.name: [
            walk(surface, name, [rate], steps)[0]
            if rate is not None
            else search_rates(surface, name, steps).right
            for name in methods
        ]
        for surface in chosen
    }
    return Paths(steps, walked)


def table(record: Paths) -> list[str]:
    """A part for each surface, a line a method."""
    from landmark.figures.descent.surface import path_lines

    return [
        line
        for surface, found in record.paths.items()
        for line in path_lines(surface, ((path.method, path) for path in found))
    ]


def draw(record: Paths) -> "Figure":
    """Paths from above and their heights below, a family of methods a panel."""
    return _trace(record)[0]


def film(record: Paths) -> bytes:
    """How the paths grow."""
    from landmark.figures.descent.film import film_of

    return film_of(*_trace(record))


def _trace(record: Paths) -> "tuple[Figure, list[Trace]]":
    """Of one surface or two a pair of rows each, a column a family; of more, the other way."""
    from landmark.figures.descent.surface import FAMILIES
    from landmark.probes.descent.surface import SURFACES

    drawn = {one.method for walked in record.paths.values() for one in walked}
    families = {title: own for title, own in FAMILIES.items() if drawn & set(own)}
    few = len(record.paths) <= 2
    pairs, columns = len(record.paths), len(families)
    if not few:
        pairs, columns = columns, pairs
    size = (3.7, 2.4) if columns > 1 else (6.5, 3.4)
    figure, grid = style.panels(2 * pairs, columns, size=size, height_ratios=[3, 2] * pairs)
    traces: list[Trace] = []
    for number, (name, walked) in enumerate(record.paths.items()):
        surface = SURFACES[name]
        for place, (family, own) in enumerate(families.items()):
            row, column = (2 * number, place) if few else (2 * place, number)
            axes, below = grid[row, column], grid[row + 1, column]
            found = [one for one in walked if one.method in own]
            traces += _draw_family(axes, below, surface, found)
            style.title(axes, family if len(record.paths) == 1 else f"{name}\n{family}")
    grounds = "; ".join(f"{name}: {SURFACES[name].equation}" for name in record.paths)
    style.heading(
        figure,
        f"Paths of optimisers and their heights above the minimum, with learning rates\n{grounds}",
    )
    return figure, traces


def _draw_family(axes: Any, below: Any, surface: Any, walked: "list[DescentPath]") -> "list[Trace]":
    """Paths from above, and their heights."""
    from landmark.figures.descent.surface import (
        STYLES,
        draw_surface,
        finish_heights,
        trace_heights,
        trace_path,
    )

    draw_surface(axes, surface, walked)
    traces = []
    for one in walked:
        label = f"{one.method}  {one.rate:.2g}"
        traces.append(trace_path(axes, one, *STYLES[one.method], ""))
        traces.append(trace_heights(below, one, *STYLES[one.method], label))
    finish_heights(below)
    style.add_legend(below, outside=True)
    return traces
