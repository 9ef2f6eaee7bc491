"""Kernels as small pictures, as in AlexNet's figure 3."""

import math
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_picture, montage

MOST = 256  # of one figure
_SIDE = 16  # kernels across, where there are so many


def visible(weights: Tensor) -> Tensor:
    """Each kernel by its own largest weight, 0 as middle grey. (N, C, h, w) -> 0 to 1"""
    largest = weights.abs().flatten(1).max(1).values.view(-1, 1, 1, 1)
    return 0.5 + 0.5 * weights / largest.clamp(min=1e-12)


def pictures(weights: Tensor) -> tuple[Tensor, int]:
    """Kernels as panels, and how many stand in a row. (O, C, h, w) -> (N, 1 or 3, h, w)

    Of kernels over one channel or three, each is a panel. Of others, each slice is: a row for each
    of the first kernels, a column for each of their first channels.
    """
    if weights.shape[1] in (1, 3):
        count = len(weights)
        across = _SIDE if count > 4 * _SIDE else 8 if count > 8 else count
        return visible(weights[:MOST]), across
    part = visible(weights[:_SIDE, :_SIDE])
    return part.flatten(0, 1)[:, None], part.shape[1]


def save_kernels(weights: Tensor, title: str, path: Path) -> None:
    """All kernels of a layer, or the first of very many. (O, C, h, w)"""
    panels, across = pictures(weights)
    rows = math.ceil(len(panels) / across)
    side = max(0.32, min(0.8, 8 / across))
    size = max(3.5, across * side), rows * side * weights.shape[2] / weights.shape[3] + 0.4
    figure = Figure(figsize=size, layout="constrained")
    draw_picture(figure.subplots(), montage(panels, across))
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)


def save_components(components: Tensor, shares: Tensor, title: str, path: Path) -> None:
    """Principal components of kernels, the strongest first, and what share each has."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    sheet, bars = figure.subplots(1, 2, width_ratios=(1.5, 1))
    across = 7 if len(components) > 6 else len(components)
    draw_picture(sheet, montage(visible(components), across))
    running = torch.cumsum(shares, 0)
    bars.bar(range(1, len(shares) + 1), shares.tolist(), color="C0", label="each")
    bars.plot(range(1, len(shares) + 1), running.tolist(), color="C3", label="together")
    bars.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1))
    bars.legend(fontsize=8)
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)
