"""What a learning rate does: too small, right and too large, and the heights that all reach."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.plots.descent.film import Trace, save_traces
from landmark.plots.descent.path import (
    LOWEST_SHOWN,
    STYLES,
    draw_surface,
    finish_heights,
    tidy,
    trace_heights,
    trace_path,
)
from landmark.probes.descent.path import DescentPath, RateSearch
from landmark.probes.descent.surface import Surface

_COLOURS = {"too small": "#1f77b4", "right": "#009e73", "too large": "#d62728"}


def save_rates(
    surface: Surface, method: str, searches: Mapping[str, RateSearch], path: Path
) -> None:
    """One method's paths at three rates, their heights, and every method's heights by rate."""
    figure = Figure(figsize=(12, 7.2), layout="constrained")
    panels = figure.subplot_mosaic("AABBCC;HHHRRR")
    search, traces = searches[method], list[Trace]()
    chosen = zip(
        _COLOURS.items(), (search.too_small, search.right, search.too_large), "ABC", strict=True
    )
    for (word, colour), walked, panel in chosen:
        draw_surface(panels[panel], surface)
        lost = "" if walked.diverged is None else f", diverges at step {walked.diverged}"
        panels[panel].set_title(f"{word}: {walked.rate:.2g}{lost}", fontsize=10)
        traces.append(trace_path(panels[panel], _within(walked, surface), colour, "-", ""))
        label = f"{word}: {walked.rate:.2g}"
        traces.append(trace_heights(panels["H"], walked, colour, "-", label))
    finish_heights(panels["H"])
    panels["H"].set_title(f"{method} on the surface {surface.name}", fontsize=10)
    panels["H"].legend(fontsize=9, frameon=False)
    _draw_searches(panels["R"], method, searches)
    save_traces(figure, traces, path)


def _within(path: DescentPath, surface: Surface) -> DescentPath:
    """A path up to where it leaves the picture for more than a picture's size, to be lost there."""
    left, right, bottom, top = surface.window
    for step, (x, y) in enumerate(path.points):
        wide, high = right - left, top - bottom
        if not (left - wide < x < right + wide and bottom - high < y < top + high):
            return dataclasses.replace(path, points=path.points[: step + 1])
    return path


def _draw_searches(axes: Axes, method: str, searches: Mapping[str, RateSearch]) -> None:
    """Where each method ends, by rate; a line stops where its path diverges."""
    for name, search in searches.items():
        colour, style = STYLES[name]
        axes.plot(
            [walked.rate for walked in search.paths],
            [_drawn(walked.end) for walked in search.paths],
            color=colour,
            linestyle=style,
            linewidth=3.2 if name == method else 1.1,
            label=name,
        )
    axes.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="height in the end")
    axes.set_title("The highest point of the last tenth of the steps", fontsize=10)
    tidy(axes)
    axes.legend(fontsize=8, ncols=2, frameon=False)


def _drawn(height: float) -> float:
    return max(height, LOWEST_SHOWN) if np.isfinite(height) else float("nan")
