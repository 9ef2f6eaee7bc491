"""Kernels of a convolution as small pictures, as in AlexNet's figure 3."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report
from landmark.figures.images.options import RunOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

MOST = 256
"""Kernels of one figure."""
_SIDE = 16  # kernels across, where there are so many


@settings
class Options(RunOptions):
    """Which kernels to draw."""

    layer: str | None = None
    """Convolution to show; default: the first."""
    components: int | None = None
    """Show this many principal components of the kernels instead."""
    output: Path = Path("kernels.png")
    """Output file."""


@dataclass(frozen=True)
class Kernels:
    """The kernels of a layer; with their principal components, if these were asked for."""

    run: str
    layer: str
    weights: "Tensor"
    """(O, C, h, w)"""
    components: "Tensor | None" = None
    """(N, C, h, w), the strongest first."""
    shares: "Tensor | None" = None
    """Each one's share of the variance. (N,)"""

    @property
    def what(self) -> str:
        count, channels, height, width = self.weights.shape
        return f"{self.layer}: {count} kernels of {height}x{width}x{channels}"

    def json(self) -> dict[str, Any]:
        facts = {"layer": self.layer, "shape": list(self.weights.shape)}
        return facts if self.shares is None else {**facts, "shares": self.shares.tolist()}


def compute(options: Options, report: Report) -> Kernels:
    """Read the weights of one convolution."""
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.kernel import kernels, principal_kernels

    viewer = open_viewer(options.run, options.checkpoint, options.device)
    layer, weights = kernels(viewer.network, options.layer)
    if options.components is None:
        return Kernels(options.name, layer, weights)
    return Kernels(options.name, layer, weights, *principal_kernels(weights, options.components))


def table(record: Kernels) -> list[str]:
    """What the layer is, and how much the components say."""
    if record.shares is None:
        return [record.what]
    share = f"{float(record.shares.sum()):.1%}"
    return [record.what, f"{len(record.shares)} components have {share} of the variance"]


def draw(record: Kernels) -> "Figure":
    """All kernels of a layer, or the first of very many; or the components and their shares."""
    return _draw_kernels(record) if record.components is None else _draw_components(record)


def _draw_kernels(record: Kernels) -> "Figure":
    from landmark.figures.images.picture import draw_picture, montage

    panels, across = pictures(record.weights)
    rows = math.ceil(len(panels) / across)
    side = max(0.32, min(0.8, 8 / across))
    height = rows * side * record.weights.shape[2] / record.weights.shape[3] + 0.5
    figure, grid = style.panels(size=(max(4.2, across * side), height))
    draw_picture(grid[0, 0], montage(panels, across))
    style.heading(figure, f"{record.run}, {record.what}")
    return figure


def _draw_components(record: Kernels) -> "Figure":
    from landmark.figures.images.picture import draw_picture, montage

    assert record.components is not None
    assert record.shares is not None
    figure, grid = style.panels(1, 2, size=(4.5, 3.6), width_ratios=(1.5, 1))
    sheet, bars = grid[0]
    panels, across = pictures(record.components)
    is_one_each = len(panels) == len(record.components)
    draw_picture(sheet, montage(panels, min(across, 7) if is_one_each else across))
    numbers = range(1, len(record.shares) + 1)
    bars.bar(numbers, record.shares.tolist(), color=style.colour(5), label="one component")
    bars.plot(
        numbers, record.shares.cumsum(0).tolist(), ".-", color=style.colour(1),
        label="all up to it",
    )  # fmt: skip
    bars.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.04))
    bars.xaxis.get_major_locator().set_params(integer=True)
    style.tidy(bars)
    style.add_legend(bars, outside=True)
    style.heading(figure, f"{record.run}, {record.what}: principal components")
    return figure


def visible(weights: "Tensor") -> "Tensor":
    """Each kernel by its own largest weight, 0 as middle grey. (N, C, h, w) -> 0 to 1"""
    largest = weights.abs().flatten(1).max(1).values.view(-1, 1, 1, 1)
    return 0.5 + 0.5 * weights / largest.clamp(min=1e-12)


def pictures(weights: "Tensor") -> "tuple[Tensor, int]":
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
