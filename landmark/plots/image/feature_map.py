"""Feature maps as pictures: one layer's channels, or the strongest channels of many layers."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_picture

MOST = 64
_COLOURS = "viridis"


def strongest(maps: Tensor, count: int) -> list[int]:
    """The channels with the largest deviation over places: those that say most. (K, h, w)"""
    spread = maps.flatten(1).std(1, correction=0)
    return spread.topk(min(count, len(maps))).indices.tolist()


def save_maps(image: Tensor, name: str, maps: Tensor, title: str, path: Path) -> None:
    """The image, then the first channels of one layer, each in its own scale. maps: (K, h, w)"""
    shown = maps[:MOST]
    across = 8 if len(shown) > 8 else len(shown)
    rows = -(-len(shown) // across)
    figure = Figure(figsize=(1.9 + 0.95 * across, 0.8 + 1.0 * rows), layout="constrained")
    ((left, right),) = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.9, 0.95 * across))
    draw_picture(left.subplots(), image, "image")
    grid = right.subplots(rows, across, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number < len(shown):
            _draw_map(axes, shown[number], str(number))
        else:
            axes.set_axis_off()
    more = f", the first {len(shown)} of {len(maps)}" if len(maps) > len(shown) else ""
    height, width = maps.shape[1:]
    said = f"{title}: {name}, {len(maps)} maps of {width}x{height}{more}"
    figure.suptitle(said, fontsize=9, parse_math=False)
    save_figure(figure, path)


def save_overview(
    image: Tensor, layers: Sequence[tuple[str, Tensor]], count: int, title: str, path: Path
) -> None:
    """A row a layer: its strongest channels, from the first layer down to the last."""
    size = 2.2 + 0.95 * count, 0.6 + 1.0 * (len(layers) + 1)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(layers) + 1, count + 1, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    draw_picture(grid[0, 1], image)
    _name(grid[0, 0], "image")
    for row, (name, maps) in enumerate(layers, 1):
        height, width = maps.shape[1:]
        _name(grid[row, 0], f"{name}\n{len(maps)} x {width}x{height}")
        for column, channel in enumerate(strongest(maps, count), 1):
            _draw_map(grid[row, column], maps[channel], str(channel))
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)


def _draw_map(axes: Axes, values: Tensor, title: str) -> None:
    axes.set_axis_off()
    axes.set_title(title, fontsize=6, pad=2)
    axes.imshow(values.numpy(), cmap=_COLOURS, interpolation="nearest")


def _name(axes: Axes, text: str) -> None:
    axes.text(
        1, 0.5, text, ha="right", va="center", fontsize=7, transform=axes.transAxes,
        parse_math=False,
    )  # fmt: skip
