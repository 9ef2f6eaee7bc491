"""Surfaces from above with the paths on them, and how high each path is at each step."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from landmark.figures import style
from landmark.figures.descent.film import Style, Trace, trace
from landmark.probes.descent.path import DescentPath
from landmark.probes.descent.surface import Surface

FAMILIES = {
    "Gradients and their velocity": ("sgd", "momentum", "averaged-momentum", "nesterov"),
    "Squares of gradients": ("adagrad", "rmsprop", "adadelta"),
    "Adam and its kin": ("adam", "adamw", "adamax", "amsgrad"),
}
"""Methods by what they remember: no panel shows more than one family."""
DASHED = ("averaged-momentum", "amsgrad")  # they may lie on another
STYLES: dict[str, tuple[str, Style]] = {
    name: (style.colour(number), (0, (3, 2)) if name in DASHED else "-")
    for family in FAMILIES.values()
    for number, name in enumerate(family)
}
"""The colour and the line of each method in its family."""
GROUND = LinearSegmentedColormap.from_list("ground", ["#b9c6d6", "#dde4ec", "#f7f9fb"])
GRID, LEVELS = 240, 14
LOWEST_SHOWN = 1e-10
"""Of heights, which are drawn by powers of ten."""


def draw_surface(axes: Axes, surface: Surface, walked: Sequence[DescentPath] = ()) -> None:
    """The ground, the darker the lower, a ring where paths begin and a star at each minimum.

    The window grows by up to a half for paths that leave it.
    """
    left, right, bottom, top = _window(surface, walked)
    xs, ys = torch.linspace(left, right, GRID), torch.linspace(bottom, top, GRID)
    points = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), -1)
    heights = (surface.height(points) - surface.lowest).numpy()
    levels = np.geomspace(max(heights.min(), heights.max() * 1e-4), heights.max(), LEVELS)
    logs = np.log(np.maximum(heights, levels[0]))
    axes.contourf(xs, ys, logs, np.log(levels), cmap=GROUND, extend="min")
    axes.contour(xs, ys, logs, np.log(levels), colors="white", linewidths=0.6)
    axes.plot(*surface.start, "o", color="black", markerfacecolor="white", markersize=7, zorder=5)
    for minimum in surface.minima:
        axes.plot(*minimum, "*", color="black", markerfacecolor="gold", markersize=11, zorder=4)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.tick_params(labelsize=7, length=2, color="0.6", labelcolor="0.4")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _window(surface: Surface, walked: Sequence[DescentPath]) -> tuple[float, ...]:
    """The least and the largest x, then y."""
    bounds: list[float] = []
    for axis in (0, 1):
        low, high = surface.window[2 * axis : 2 * axis + 2]
        room, margin = (high - low) / 2, (high - low) / 40
        places = [point[axis] for path in walked for point in path.points] or [low]
        bounds += [
            max(min(low, min(places) - margin), low - room),
            min(max(high, max(places) + margin), high + room),
        ]
    return tuple(bounds)


def trace_path(axes: Axes, path: DescentPath, colour: str, line: Style, label: str) -> Trace:
    """A path from above."""
    xs, ys = zip(*path.points, strict=True)
    return trace(axes, xs, ys, colour, line, label)


def trace_heights(axes: Axes, path: DescentPath, colour: str, line: Style, label: str) -> Trace:
    """Its heights, step by step."""
    heights = np.maximum(path.heights, LOWEST_SHOWN).tolist()
    return trace(axes, range(len(heights)), heights, colour, line, label)


def finish_heights(axes: Axes) -> None:
    """Say what heights, above the minimum, by step are."""
    axes.set_yscale("log")
    axes.set(xlabel="step", ylabel="height")
    style.tidy(axes)


def path_lines(title: str, shown: Iterable[tuple[str, DescentPath]]) -> list[str]:
    """Of each path its rate, when it arrived, how high it is in the end, and where."""
    rows = list(shown)
    width = max(len(title), *(len(name) for name, _ in rows)) + 2
    lines = [f"{title:<{width}}{'rate':>10}{'arrived':>10}{'height':>10}   end"]
    for name, path in rows:
        x, y = path.points[-1]
        arrived = "-" if path.arrived is None else f"step {path.arrived}"
        end = f"{path.heights[-1]:.1e}   ({x:.3f}, {y:.3f})"
        if path.diverged is not None:
            end = f"diverged at step {path.diverged}"
        lines.append(f"{name:<{width}}{path.rate:>10.2g}{arrived:>10}   {end}")
    return lines
