"""How many pixels the units of each layer see, by arithmetic and by gradients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from torch import Tensor, nn

    from landmark.probes.image.receptive import FieldLayer

_NAMED = 40  # layers that bars still name
_BOXES = 6
_MOST_SIDES = 3  # of the image that a box is as large as, to be drawn
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
        raise UserError(f"{network}: does not look at images: choose one that does, as resnet-50")
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
    rows = max(4.0, 1.2 + 0.16 * min(len(layers), _NAMED))
    across = min(3, len(strengths)) if strengths else 0
    down = -(-len(strengths) // across) if across else 0
    figure = Figure(figsize=(10, rows + 3.1 * down), layout="constrained")
    heights = (rows, 3.1 * down) if down else (rows,)
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    bars, seen = parts[0].subplots(1, 2)
    colours = {layer.name: style.colour(number) for number, layer in enumerate(boxes)}
    _draw_bars(bars, layers, record.shown.shape[-2:], colours)
    _draw_boxes(seen, boxes, record.shown, colours)
    if down:
        panels = parts[1].subplots(down, across, squeeze=False).flat
        for axes in panels[len(strengths) :]:
            axes.set_axis_off()
        for axes, layer in zip(panels, boxes, strict=False):
            _draw_gradient(axes, layer, strengths[layer.name], colours[layer.name])
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

    side = max(image.shape[-2:])
    drawn = [layer for layer in layers if _widest(layer) <= _MOST_SIDES * side]
    said = "what the unit in the middle of a layer can see; outside: padding"
    if len(drawn) < len(layers):
        said += f"; larger than drawn: {len(layers) - len(drawn)}"
    draw_picture(axes, image)
    style.title(axes, said)
    outside = 0.0  # pixels from the image's edge to that of the box that lies farthest out
    height, width = image.shape[-2:]
    for layer in sorted(drawn, key=lambda layer: -layer.field.height.size):
        box = _box(layer, colours[layer.name])
        axes.add_patch(box)
        far_right, far_below = box.get_x() + box.get_width(), box.get_y() + box.get_height()
        outside = max(outside, -box.get_x(), -box.get_y(), far_right - width, far_below - height)
    _show_around(axes, image.shape[-2:], (outside + 0.5) / side + 0.06)


def _draw_gradient(axes: "Axes", layer: "FieldLayer", gradient: "Tensor", colour: str) -> None:
    """By the fourth root: gradients fall off steeply, and the faint edge is what is looked for."""
    axes.set_axis_off()
    axes.imshow(gradient.pow(0.25).numpy(), cmap=style.SEQUENTIAL, interpolation="nearest")
    axes.add_patch(_box(layer, colour))
    style.title(axes, f"{layer.name}: gradient, by its fourth root")
    _show_around(axes, gradient.shape, 0.05)


def _show_around(axes: "Axes", shape: Sequence[int], share: float) -> None:
    """The image and a margin."""
    height, width = shape
    around = share * max(height, width)
    axes.set_xlim(-0.5 - around, width - 0.5 + around)
    axes.set_ylim(height - 0.5 + around, -0.5 - around)


def _box(layer: "FieldLayer", colour: str) -> "Rectangle":
    from matplotlib.patches import Rectangle

    top, bottom = layer.field.height.around(layer.output[0] // 2)
    left, right = layer.field.width.around(layer.output[1] // 2)
    corner = left - 0.5, top - 0.5
    return Rectangle(
        corner, right - left, bottom - top, fill=False, edgecolor=colour, linewidth=1.8
    )
