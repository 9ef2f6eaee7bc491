"""Paths of descent on surfaces, from above, and how deep they are at each step."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.plots.descent.film import Trace, save_traces, trace
from landmark.probes.descent.path import DescentPath
from landmark.probes.descent.surface import SURFACES, Surface

# Blue for gradients and their velocity, green for squares alone, red for Adam and its kin.
STYLES = {
    "sgd": ("black", "-"),
    "momentum": ("tab:blue", "-"),
    "averaged-momentum": ("deepskyblue", "--"),  # at its rate, it takes the path of momentum
    "nesterov": ("tab:cyan", "-"),
    "adagrad": ("limegreen", "-"),
    "rmsprop": ("tab:green", "-"),
    "adadelta": ("tab:olive", "-"),
    "adam": ("tab:red", "-"),
    "adamw": ("tab:orange", "-"),
    "adamax": ("tab:purple", "-"),
    "amsgrad": ("tab:pink", "--"),
}
GRID, LEVELS = 200, 16
LOWEST_SHOWN = 1e-10  # of heights, which are drawn by powers of ten


def save_paths(paths: Mapping[str, Sequence[DescentPath]], path: Path) -> None:
    """A column for each surface: the paths from above, and below that their heights by step."""
    columns = len(paths)
    figure = Figure(figsize=(max(7.0, 5.2 * columns), 10.5), layout="constrained")
    grid = figure.subplots(2, columns, squeeze=False, height_ratios=(3, 2))
    traces: list[Trace] = []
    for column, (name, walked) in enumerate(paths.items()):
        surface, (above, below) = SURFACES[name], grid[:, column]
        draw_surface(above, surface)
        above.set_title(f"{name}: {surface.equation}", fontsize=10)
        for one in walked:
            traces.append(trace_path(above, one, *STYLES[one.method], ""))
        for one in walked:
            label = f"{one.method}, {one.rate:.2g}"
            traces.append(trace_heights(below, one, *STYLES[one.method], label))
        finish_heights(below)
        below.legend(
            fontsize=8, ncols=3, title="method, learning rate", title_fontsize=8,
            loc="upper center", bbox_to_anchor=(0.5, -0.15),
        )  # fmt: skip
    save_traces(figure, traces, path)


def draw_surface(axes: Axes, surface: Surface) -> None:
    """Lines of equal height, a ring where paths begin and a star at each minimum."""
    left, right, bottom, top = surface.window
    xs, ys = torch.linspace(left, right, GRID), torch.linspace(bottom, top, GRID)
    points = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), -1)
    heights = (surface.height(points) - surface.lowest).numpy()
    levels = np.geomspace(max(heights.min(), heights.max() * 1e-5), heights.max(), LEVELS)
    axes.contourf(xs, ys, np.log(heights + levels[0]), LEVELS, cmap="Greys_r", alpha=0.35)
    axes.contour(xs, ys, heights, levels, colors="0.6", linewidths=0.5)
    axes.plot(*surface.start, "o", color="black", markerfacecolor="white", markersize=8)
    for minimum in surface.minima:
        axes.plot(*minimum, "*", color="black", markerfacecolor="gold", markersize=12, zorder=4)
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="x", ylabel="y")


def trace_path(axes: Axes, path: DescentPath, colour: str, style: str, label: str) -> Trace:
    """A path from above."""
    xs, ys = zip(*path.points, strict=True)
    return trace(axes, xs, ys, colour, style, label)


def trace_heights(axes: Axes, path: DescentPath, colour: str, style: str, label: str) -> Trace:
    """Its heights, step by step."""
    heights = np.maximum(path.heights, LOWEST_SHOWN).tolist()
    return trace(axes, range(len(heights)), heights, colour, style, label)


def finish_heights(axes: Axes) -> None:
    """Say what heights by step are."""
    axes.set_yscale("log")
    axes.set(xlabel="step", ylabel="height above the minimum")
    axes.grid(alpha=0.3)
