"""Adam with bias correction and without: how much too large its steps are, and what comes of it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from landmark.plots.descent.path import tidy
from landmark.plots.figure import save_figure
from landmark.probes.descent.bias import BETA1, BiasRun, best_rate, excess

_COLOURS = ("#56b4e9", "#1f77b4", "#1b2a6b", "#9467bd", "#d62728", "#e69f00")
_WIDTH = 15  # of the moving average that makes curves of single batches readable


def save_bias(runs: Sequence[BiasRun], path: Path) -> None:
    """The size of a step, the losses at one rate, and the losses in the end by rate."""
    beta2s = list(dict.fromkeys(run.beta2 for run in runs))
    colours = {beta2: _COLOURS[n % len(_COLOURS)] for n, beta2 in enumerate(beta2s)}
    figure = Figure(figsize=(12, 3.9), layout="constrained")
    sizes, curves, ends = figure.subplots(1, 3)
    _draw_sizes(sizes, colours, len(runs[0].losses))
    _draw_curves(curves, colours, runs)
    _draw_ends(ends, colours, runs)
    handles = [Line2D([], [], color=colours[beta2], label=f"β₂ = {beta2:g}") for beta2 in beta2s]
    handles.append(Line2D([], [], color="0.3", linestyle="-", label="corrected"))
    handles.append(Line2D([], [], color="0.3", linestyle="--", label="not corrected"))
    figure.legend(handles=handles, ncols=len(handles), loc="outside lower center", frameon=False)
    save_figure(figure, path)


def _draw_sizes(axes: Axes, colours: dict[float, str], steps: int) -> None:
    """How many times too large steps are at first."""
    for beta2, colour in colours.items():
        sizes = [excess(BETA1, beta2, step) for step in range(1, steps + 1)]
        axes.plot(range(1, steps + 1), sizes, color=colour, linestyle="--", linewidth=1.6)
    axes.axhline(1, color="0.3", linewidth=1.2)
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel="step size / corrected step size")
    axes.set_title("Without correction, steps are too large", fontsize=10)
    tidy(axes)


def _draw_curves(axes: Axes, colours: dict[float, str], runs: Sequence[BiasRun]) -> None:
    """Losses by step, at the rate that is right with correction."""
    rate = best_rate(runs)
    for run in runs:
        if run.rate == rate:
            smooth = np.convolve(np.pad(run.losses, (_WIDTH - 1, 0), "edge"), np.ones(_WIDTH))
            axes.plot(
                range(1, len(run.losses) + 1),
                smooth[_WIDTH - 1 : -_WIDTH + 1] / _WIDTH,
                color=colours[run.beta2],
                linestyle="-" if run.corrected else "--",
                linewidth=1.4,
            )
    axes.set(yscale="log", xlabel="step", ylabel=f"training loss, mean of {_WIDTH} batches")
    axes.set_title(f"At a rate of {rate:.2g}, right with correction", fontsize=10)
    tidy(axes)


def _draw_ends(axes: Axes, colours: dict[float, str], runs: Sequence[BiasRun]) -> None:
    """As in figure 4 of the paper: the loss in the end, by rate."""
    for beta2, colour in colours.items():
        for corrected in (True, False):
            own = [run for run in runs if run.beta2 == beta2 and run.corrected == corrected]
            axes.plot(
                [run.rate for run in own],
                [run.final for run in own],
                color=colour,
                linestyle="-" if corrected else "--",
                marker="o" if corrected else "s",
                markersize=3.5,
                linewidth=1.4,
            )
    axes.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="training loss in the end")
    axes.set_title("Correction makes the right rate the same for all β₂", fontsize=10)
    tidy(axes)
