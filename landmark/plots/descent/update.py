"""How far each layer moves at each step of a real training."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.pipelines.inspection.update import WatchedTraining
from landmark.plots.descent.path import tidy
from landmark.plots.figure import save_figure

USUAL = 1e-3
"""The share of its size that a matrix moves in trainings that go well: a rule of thumb."""
_AROUND = 4  # steps before and after, of the mean


def save_updates(watched: WatchedTraining, title: str, path: Path) -> None:
    """By step, the update as a share of the weights, and over the gradient; a line a layer."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    shares, rates = figure.subplots(1, 2)
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, len(watched.layers)))
    for one, colour in zip(watched.layers, colours, strict=True):
        _draw(shares, one.shares, colour, one.layer)
        _draw(rates, one.rates, colour, "")
    shares.axhline(USUAL, color="0.5", linestyle=":", linewidth=1.2)
    shares.set_title("Update / weights", fontsize=10)
    steps = range(1, len(watched.learning_rates) + 1)
    rates.plot(steps, watched.learning_rates, color="0.3", linestyle="--", label="learning rate")
    rates.set_title("Effective rate: update / gradient", fontsize=10)
    for axes in (shares, rates):
        axes.set(yscale="log", xlabel="step")
        tidy(axes)
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside right center", frameon=False, fontsize=8, title="first layer on top")
    save_figure(figure, path)


def _draw(axes: Axes, values: list[float], colour: Any, label: str) -> None:
    """Each step, thin, and the mean of some around it; one that did not move the layer is a gap."""
    steps, drawn = range(1, len(values) + 1), np.where(np.array(values) > 0, values, np.nan)
    axes.plot(steps, drawn, color=colour, linewidth=0.7, alpha=0.35)
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(drawn, _AROUND, "edge"), 2 * _AROUND + 1
    )
    mean = np.exp(np.log(around).mean(-1))
    axes.plot(steps, mean, color=colour, linewidth=1.7, label=label)
