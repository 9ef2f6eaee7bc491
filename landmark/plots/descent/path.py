"""Paths of descent on surfaces, from above, and how deep they are at each step."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from landmark.plots.descent.film import Style, Trace, save_traces, trace
from landmark.probes.descent.path import DescentPath
from landmark.probes.descent.surface import SURFACES, Surface

FAMILIES = {
    "Gradients and their velocity": {
        "sgd": "#333333",
        "momentum": "#1f77b4",
        "averaged-momentum": "#56b4e9",  # dashed: at its rate, it takes the path of momentum
        "nesterov": "#d55e00",
    },
    "Squares of gradients": {
        "adagrad": "#e69f00",
        "rmsprop": "#009e73",
        "adadelta": "#8c6d31",
    },
    "Adam and its kin": {
        "adam": "#d62728",
        "adamw": "#9467bd",
        "adamax": "#1b2a6b",
        "amsgrad": "#e377c2",
    },
}
"""The colour of each method, by what it remembers."""
DASHED = ("averaged-momentum", "amsgrad")  # they may lie on another
STYLES = {
    name: (colour, (0, (3, 2)) if name in DASHED else "-")
    for family in FAMILIES.values()
    for name, colour in family.items()
}
GROUND = LinearSegmentedColormap.from_list("ground", ["#b9c6d6", "#dde4ec", "#f7f9fb"])
GRID, LEVELS = 240, 14
LOWEST_SHOWN = 1e-10  # of heights, which are drawn by powers of ten


def save_paths(paths: Mapping[str, Sequence[DescentPath]], path: Path) -> None:
    """A column for each surface: a row of paths for each family, and the heights of all."""
    drawn = {one.method for walked in paths.values() for one in walked}
    families = {title: own for title, own in FAMILIES.items() if drawn & own.keys()}
    figure, columns = _panels(len(families) + 1, len(paths))
    traces: list[Trace] = []
    for (name, walked), column in zip(paths.items(), columns, strict=True):
        surface = SURFACES[name]
        for axes, (title, own) in zip(column, families.items(), strict=False):
            draw_surface(axes, surface)
            for one in walked:
                if one.method in own:
                    label = f"{one.method}  {one.rate:.2g}"
                    traces.append(trace_path(axes, one, *STYLES[one.method], label))
            draw_key(axes, surface)
            if column is columns[0]:
                axes.set_ylabel(title, fontsize=11)
        column[0].set_title(f"{name.capitalize()}\n{surface.equation}", fontsize=9)
        for one in walked:
            traces.append(trace_heights(column[-1], one, *STYLES[one.method], ""))
        finish_heights(column[-1])
    save_traces(figure, traces, path)


def _panels(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A figure and its panels by column; the panels of one column stand two and two."""
    if columns == 1:
        figure = Figure(figsize=(10, 3.6 * math.ceil(rows / 2)), layout="constrained")
        places = figure.subplots(math.ceil(rows / 2), 2).flatten().tolist()
        for spare in places[rows:]:
            spare.remove()
        return figure, [places[:rows]]
    figure = Figure(figsize=(4.2 * columns, 3.3 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns).T.tolist()


def draw_surface(axes: Axes, surface: Surface) -> None:
    """The ground, the darker the lower, a ring where paths begin and a star at each minimum."""
    left, right, bottom, top = surface.window
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


def draw_key(axes: Axes, surface: Surface) -> None:
    """Which line is which, in the corner that the surface leaves free."""
    axes.legend(
        fontsize=8, loc=surface.free_corner, frameon=True, framealpha=0.8, edgecolor="none",
        handlelength=1.4, borderpad=0.3, labelspacing=0.25,
    )  # fmt: skip


def trace_path(axes: Axes, path: DescentPath, colour: str, style: Style, label: str) -> Trace:
    """A path from above."""
    xs, ys = zip(*path.points, strict=True)
    return trace(axes, xs, ys, colour, style, label)


def trace_heights(axes: Axes, path: DescentPath, colour: str, style: Style, label: str) -> Trace:
    """Its heights, step by step."""
    heights = np.maximum(path.heights, LOWEST_SHOWN).tolist()
    return trace(axes, range(len(heights)), heights, colour, style, label)


def finish_heights(axes: Axes) -> None:
    """Say what heights by step are."""
    axes.set_yscale("log")
    axes.set(xlabel="step", ylabel="height above the minimum")
    tidy(axes)


def tidy(axes: Axes) -> None:
    """A frame that stays behind what it frames."""
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.tick_params(labelsize=8, color="0.6")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("0.6")
