"""The feature maps that a network makes of an image, of one layer or of many."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report, plain
from landmark.figures.images.options import ImageOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import Tensor

    from landmark.probes.image.layer import MapLayer

MOST = 64
"""Maps of one layer."""
_ROWS, _COLUMNS = 8, 8  # of an overview
_PANEL = 0.95  # inches


@settings
class Options(ImageOptions):
    """Which image, which layer."""

    layer: str | None = None
    """Show the feature maps of this layer only; default: some of many layers."""
    output: Path = Path("maps.png")
    """Output file."""


@dataclass(frozen=True)
class FeatureMaps:
    """An image, all layers that make maps of it, and the maps of some."""

    run: str
    image: str
    layer: str | None
    """The one that was asked for."""
    layers: "list[MapLayer]"
    shown: "Tensor"
    """(C, H, W) of 0 to 1"""
    maps: "dict[str, Tensor]"
    """(K, h, w) by layer."""

    def json(self) -> dict[str, Any]:
        return {"image": self.image, "layer": self.layer, "layers": plain(self.layers)}


def compute(options: Options, report: Report) -> FeatureMaps:
    """Feed the image, and keep what layers give."""
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.layer import feature_maps, list_layers, overview

    viewer = open_viewer(options.run, options.checkpoint, options.device)
    view = viewer.view(options.image)
    layers = list_layers(viewer.network, view.given)
    names = [options.layer] if options.layer else [one.name for one in overview(layers, _ROWS)]
    found = {name: feature_maps(viewer.network, view.given, name)[0] for name in names}
    return FeatureMaps(options.name, view.name, options.layer, layers, view.shown, found)


def table(record: FeatureMaps) -> list[str]:
    """All layers with maps."""
    width = max(8, *(len(one.name) + 2 for one in record.layers))
    lines = [
        f"{one.name:<{width}}{one.kind:<22}{one.channels:>6}{f'{one.width}x{one.height}':>10}"
        for one in record.layers
    ]
    return [f"{'layer':<{width}}{'kind':<22}{'maps':>6}{'size':>10}", *lines]


def draw(record: FeatureMaps) -> "Figure":
    """One layer channel by channel, or a row a layer with its strongest channels."""
    return _draw_overview(record) if record.layer is None else _draw_layer(record, record.layer)


def strongest(maps: "Tensor", count: int) -> list[int]:
    """The channels that vary most over places: those that say most. (K, h, w)"""
    spread = maps.flatten(1).std(1, correction=0)
    found: list[int] = spread.topk(min(count, len(maps))).indices.tolist()
    return found


def _draw_layer(record: FeatureMaps, name: str) -> "Figure":
    """The image, then the first channels of one layer, each in its own scale."""
    from matplotlib.figure import Figure

    from landmark.figures.images.picture import draw_picture

    maps = record.maps[name]
    shown = maps[:MOST]
    across = 8 if len(shown) > 8 else len(shown)
    rows = -(-len(shown) // across)
    size = 1.9 + _PANEL * across, 0.8 + max(1.9, (_PANEL + 0.05) * rows)
    figure = Figure(figsize=size, layout="constrained")
    ((left, right),) = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.9, _PANEL * across))
    draw_picture(left.subplots(), record.shown, "image")
    grid = right.subplots(rows, across, squeeze=False)
    for number, axes in enumerate(grid.flat):
        axes.set_axis_off()
        if number < len(shown):
            _draw_map(axes, shown[number], str(number))
    more = f", the first {len(shown)} of {len(maps)}" if len(maps) > len(shown) else ""
    height, width = maps.shape[1:]
    said = f"{record.run}, {record.image}: {name}, {len(maps)} maps of {width}x{height}{more}"
    style.heading(figure, said)
    return figure


def _draw_overview(record: FeatureMaps) -> "Figure":
    """From the first layer down to the last."""
    from landmark.figures.images.picture import draw_picture

    rows = len(record.maps) + 1
    figure, grid = style.panels(
        rows, _COLUMNS + 1, size=(1.1, 1.05), width_ratios=[2.2, *[1.0] * _COLUMNS]
    )
    for axes in grid.flat:
        axes.set_axis_off()
    draw_picture(grid[0, 1], record.shown)
    _name(grid[0, 0], "image")
    for row, (name, maps) in enumerate(record.maps.items(), 1):
        height, width = maps.shape[1:]
        _name(grid[row, 0], f"{name}\n{len(maps)} x {width}x{height}")
        for column, channel in enumerate(strongest(maps, _COLUMNS), 1):
            _draw_map(grid[row, column], maps[channel], str(channel))
    style.heading(
        figure, f"{record.run}, {record.image}: the maps of each layer that vary most over places"
    )
    return figure


def _draw_map(axes: "Axes", values: "Tensor", title: str) -> None:
    axes.set_axis_off()
    axes.set_title(title, fontsize=6, pad=2)
    axes.imshow(values.numpy(), cmap=style.SEQUENTIAL, interpolation="nearest")


def _name(axes: "Axes", text: str) -> None:
    axes.text(
        1, 0.5, text, ha="right", va="center", fontsize=7, transform=axes.transAxes,
        parse_math=False,
    )  # fmt: skip
