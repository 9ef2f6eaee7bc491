"""Receptive fields of the layers, theoretical and effective."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle
    from torch import Tensor, nn

    from landmark.probes.image.receptive import FieldLayer

_NAMED = 40  # layers that bars still name
_BOXES = 6
_MOST_SIDES = 3  # of the image that a box is as large as, to be drawn
_ACROSS = 3  # panels of gradients in a row
_OTHER = "0.8"


@settings
class Options:
    """Which network."""

    network: Annotated[str, Positional("NETWORK")]
    """Run directory or network name, as resnet-50."""
    image: str | None = None
    """Image to draw on; for a run also one of its own data, as valid:3."""
    gradients: bool = False
    """Measure the effective receptive field by gradients, too."""
    output: Path = Path("receptive.png")
    """Output file."""
    checkpoint: str | None = None
    """averaged, best, latest or a step; default: the best, or the average if it validates as well.
    """


@dataclass(frozen=True)
class Fields:
    """What the units of each layer see."""

    network: str
    layers: "list[FieldLayer]"
    shown: "Tensor"
    """The image to draw on. (C, H, W) of 0 to 1"""
    strengths: "dict[str, Tensor]"
    """By layer, how strongly each pixel moves the unit in the middle. (H, W)"""

    def json(self) -> dict[str, Any]:
        from landmark.probes.image.receptive import effective_size, reached

        found = {
            name: {"box": reached(strength), "effective": effective_size(strength)}
            for name, strength in self.strengths.items()
        }
        size = list(self.shown.shape[1:])
        return {"image": size, "layers": plain(self.layers), "gradients": plain(found)}


def compute(options: Options, report: Report) -> Fields:
    """Follow the operations of the network, and take gradients if asked."""
    from landmark.probes.image.receptive import gradient_field, receptive_fields

    module, shown, given = _open(options)
    channels, height, width = shown.shape
    layers = receptive_fields(module, (channels, height, width))
    strengths = {}
    if options.gradients:
        for layer in chosen(layers):
            strengths[layer.name] = gradient_field(module, given, layer.name)
    return Fields(Path(options.network).name or options.network, layers, shown, strengths)


def _open(options: Options) -> "tuple[nn.Module, Tensor, Tensor]":
    """A run's network or a fresh one by name; the picture, and what gradients are taken at."""
    import torch

    from landmark.figures.images.viewer import open_viewer, read_picture
    from landmark.tasks.catalog import NETWORKS, load_catalog

    if Path(options.network).is_dir():
        viewer = open_viewer(Path(options.network), options.checkpoint, "cpu")
        view = viewer.view(options.image) if options.image else viewer.any_view()
        return viewer.network, view.shown, view.given
    load_catalog()
    entry = NETWORKS[options.network]
    # Without gradients, shapes are enough.
    with torch.device("cpu" if options.gradients else "meta"):
        torch.manual_seed(1)
        module = entry.build().eval()
    side, channels = _image_shape(module, options.network)
    shown = read_picture(Path(options.image) if options.image else None, side, channels)
    # Several random images: a max pooling lets the gradient to one of its places at a time.
    given = torch.randn(4, channels, side, side, generator=torch.Generator().manual_seed(1))
    return module, shown, given


def _image_shape(module: "nn.Module", network: str) -> tuple[int, int]:
    """Pixels a side and channels of what a network reads."""
    from landmark.core.errors import UserError
    from landmark.models.image import ImageNetwork, ImageNetworkConfig

    config = getattr(module, "config", None)
    if not isinstance(module, ImageNetwork) or not isinstance(config, ImageNetworkConfig):
        raise UserError(f"{network}: is not an image network: choose one, as resnet-50")
    return config.image_size, config.channels


def table(record: Fields) -> list[str]:
    """A line a layer; of those with a gradient, the box it reached and what it moved noticeably."""
    from landmark.probes.image.receptive import effective_size, reached

    width = max(8, *(len(layer.name) + 2 for layer in record.layers))
    head = f"{'layer':<{width}}{'units':>10}{'sees':>12}{'every':>8}{'from':>8}"
    lines = [head + (f"{'gradient':>12}{'effective':>11}" if record.strengths else "")]
    for layer in record.layers:
        rows, columns = layer.output
        down, across = layer.field.height, layer.field.width
        line = (
            f"{layer.name:<{width}}{f'{columns}x{rows}':>10}{f'{across.size}x{down.size}':>12}"
            f"{across.step:>8}{across.start:>8}"
        )
        if layer.name in record.strengths:
            _, _, height, breadth = reached(record.strengths[layer.name])
            effective = effective_size(record.strengths[layer.name])
            line += f"{f'{breadth}x{height}':>12}{effective:>11.1f}"
        lines.append(line)
    return lines


def chosen(layers: "Sequence[FieldLayer]", most: int = _BOXES) -> "list[FieldLayer]":
    """Layers that see more than any before them, evenly from first to last."""
    grown: list[FieldLayer] = []
    for layer in layers:
        if not grown or _widest(layer) > _widest(grown[-1]):
            grown.append(layer)
    if len(grown) <= most:
        return grown
    steps = (len(grown) - 1) / (most - 1)
    return [grown[round(number * steps)] for number in range(most)]


def _widest(layer: "FieldLayer") -> int:
    return max(layer.field.height.size, layer.field.width.size)


def draw(record: Fields) -> "Figure":
    """Bars of all layers; boxes of some on the image; where a gradient was taken, its strength."""
    from matplotlib.figure import Figure

    layers, strengths = record.layers, record.strengths
    boxes = [layer for layer in layers if layer.name in strengths] or chosen(layers)
    rows = max(4.4, 1.2 + 0.16 * min(len(layers), _NAMED))
    down = -(-len(strengths) // _ACROSS)
    heights = (rows, 3.4 * down + 0.4) if down else (rows,)
    figure = Figure(figsize=(10, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    bars, seen = parts[0].subplots(1, 2)
    colours = {layer.name: style.colour(number) for number, layer in enumerate(boxes)}
    _draw_bars(bars, layers, record.shown.shape[-2:], colours)
    _draw_boxes(seen, boxes, record.shown, colours)
    if down:
        _draw_gradients(parts[1], record, boxes, colours)
    height, width = record.shown.shape[1:]
    style.heading(figure, f"{record.network}: receptive fields at {width}x{height} pixels")
    return figure


def _draw_bars(
    axes: "Axes",
    layers: "Sequence[FieldLayer]",
    sides: Sequence[int],
    colours: Mapping[str, str],
) -> None:
    sizes = [_widest(layer) for layer in layers]
    shades = [colours.get(layer.name, _OTHER) for layer in layers]
    axes.barh(range(len(layers)), sizes, color=shades)
    axes.axvline(max(sides), color="0.3", linewidth=1, linestyle="--")
    axes.text(
        max(sides), 1.005, "the whole image", ha="center", va="bottom", fontsize=7,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    if len(layers) <= _NAMED:
        names = [layer.name for layer in layers]
        axes.set_yticks(range(len(layers)), names, parse_math=False)
    else:
        axes.set_ylabel("layer")
    axes.invert_yaxis()
    axes.set_xlabel("pixels that one unit can see, a side")
    style.tidy(axes)
    axes.grid(visible=False, axis="y")
    if len(layers) <= _NAMED:
        axes.tick_params(axis="y", labelsize=6)


def _draw_boxes(
    axes: "Axes", layers: "Sequence[FieldLayer]", image: "Tensor", colours: Mapping[str, str]
) -> None:
    """The largest first, so that none hides another; what lies outside is padding."""
    from landmark.figures.images.picture import draw_picture

    drawn = [layer for layer in layers if _widest(layer) <= _MOST_SIDES * max(image.shape[-2:])]
    said = "what the middle unit of a layer sees, to scale; outside the image: padding"
    if len(drawn) < len(layers):
        said += f"; larger than drawn: {len(layers) - len(drawn)}"
    draw_picture(axes, image)
    style.title(axes, said)
    drawn.sort(key=lambda layer: -layer.field.height.size)
    boxes = [_box(layer, colours[layer.name]) for layer in drawn]
    for layer, box in zip(drawn, boxes, strict=True):
        box.set_label(f"{style.shorten(layer.name, 32)}: {_size(layer)}")
        axes.add_patch(box)
    _show_boxes(axes, boxes, image.shape[-2:])
    style.add_legend(axes, outside=True)


def _draw_gradients(
    part: "SubFigure",
    record: Fields,
    layers: "Sequence[FieldLayer]",
    colours: Mapping[str, str],
) -> None:
    """A panel a layer, and what its squares and colours mean."""
    from matplotlib.lines import Line2D

    down = -(-len(layers) // _ACROSS)
    grid = part.subplots(down, _ACROSS, squeeze=False)
    for axes in grid.flat[len(layers) :]:
        axes.remove()
    panels = list(grid.flat[: len(layers)])
    for axes, layer in zip(panels, layers, strict=True):
        colour, strength = colours[layer.name], record.strengths[layer.name]
        shown = _draw_gradient(axes, layer, record.shown, strength, colour)
    bar = part.colorbar(shown, ax=panels, shrink=0.6, ticks=[0, 0.001, 0.01, 0.1, 0.5, 1])
    bar.set_label("gradient of the middle unit, share of the largest", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    lines = [
        Line2D([], [], color="0.3", label="the field by arithmetic"),
        Line2D([], [], color="0.3", ls="--", label="square of as many pixels as count noticeably"),
    ]
    part.legend(
        handles=lines, loc="outside lower center", ncols=2, fontsize=8, frameon=False
    )  # fmt: skip


def _draw_gradient(
    axes: "Axes", layer: "FieldLayer", image: "Tensor", strength: "Tensor", colour: str
) -> "AxesImage":
    """By the fourth root: gradients fall off steeply, and the faint edge is what is looked for."""
    from matplotlib.colors import PowerNorm
    from matplotlib.patches import Rectangle

    from landmark.figures.images.picture import draw_picture
    from landmark.probes.image.receptive import effective_size, noticeable

    draw_picture(axes, image.mean(0, keepdim=True)).set_alpha(0.5)
    share = strength / strength.max().clamp(min=1e-30)
    shown = axes.imshow(
        share.numpy(), cmap=style.SEQUENTIAL, norm=PowerNorm(0.25, 0, 1),
        alpha=(share > 0).float().numpy(), interpolation="nearest",
    )  # fmt: skip
    box = _box(layer, colour)
    axes.add_patch(box)
    _show_boxes(axes, [box], strength.shape, zoom=1.8)
    side = effective_size(strength)
    row, column = noticeable(strength).nonzero().float().mean(0).tolist()
    axes.add_patch(
        Rectangle(
            (column - side / 2, row - side / 2), side, side, fill=False, edgecolor="black",
            linestyle="--", linewidth=1.2,
        )
    )  # fmt: skip
    style.title(axes, f"{layer.name}\nsees {_size(layer)}, noticeably {side:.1f}x{side:.1f}", 8)
    axes.set_axis_on()
    style.tidy(axes)
    axes.grid(visible=False)
    axes.tick_params(labelsize=6)
    return shown


def _size(layer: "FieldLayer") -> str:
    return f"{layer.field.width.size}x{layer.field.height.size}"


def _show_boxes(
    axes: "Axes", boxes: "Sequence[Rectangle]", shape: Sequence[int], zoom: float = math.inf
) -> None:
    """All boxes and the image, or of the image only so many times what the boxes cover."""
    corners = [box.get_bbox() for box in boxes]
    left, right = _window([(one.x0, one.x1) for one in corners], shape[1], zoom)
    top, bottom = _window([(one.y0, one.y1) for one in corners], shape[0], zoom)
    axes.set(xlim=(left, right), ylim=(bottom, top))


def _window(ends: Sequence[tuple[float, float]], side: int, zoom: float) -> tuple[float, float]:
    low, high = min((one for one, _ in ends), default=0), max((one for _, one in ends), default=0)
    around = (high - low) * (zoom - 1) / 2
    first, last = max(min(-0.5, low), low - around), min(max(side - 0.5, high), high + around)
    margin = 0.04 * (last - first)
    return first - margin, last + margin


def _box(layer: "FieldLayer", colour: str) -> "Rectangle":
    from matplotlib.patches import Rectangle

    top, bottom = layer.field.height.around(layer.output[0] // 2)
    left, right = layer.field.width.around(layer.output[1] // 2)
    corner = left - 0.5, top - 0.5
    return Rectangle(
        corner, right - left, bottom - top, fill=False, edgecolor=colour, linewidth=1.8
    )
