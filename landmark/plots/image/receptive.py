"""Receptive fields as a picture: how they grow, and what of an image a middle unit sees."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_picture
from landmark.probes.image.receptive import FieldLayer

_NAMED = 40  # layers that bars still name
_BOXES = 8


def chosen(layers: Sequence[FieldLayer], most: int = _BOXES) -> list[FieldLayer]:
    """Layers that see more than any before them, evenly from first to last."""
    grown: list[FieldLayer] = []
    for layer in layers:
        if not grown or _widest(layer) > _widest(grown[-1]):
            grown.append(layer)
    if len(grown) <= most:
        return grown
    steps = (len(grown) - 1) / (most - 1)
    return [grown[round(number * steps)] for number in range(most)]


def _widest(layer: FieldLayer) -> int:
    return max(layer.field.height.size, layer.field.width.size)


def save_fields(
    layers: Sequence[FieldLayer],
    image: Tensor,
    gradients: Mapping[str, Tensor],
    title: str,
    path: Path,
) -> None:
    """Bars of all layers; boxes of some on the image; where a gradient was taken, its strength."""
    boxes = [layer for layer in layers if layer.name in gradients] or chosen(layers)
    rows = max(4.0, 1.2 + 0.16 * min(len(layers), _NAMED))
    across = min(4, len(gradients)) if gradients else 0
    down = -(-len(gradients) // across) if across else 0
    figure = Figure(figsize=(10, rows + 2.3 * down), layout="constrained")
    heights = (rows, 2.3 * down) if down else (rows,)
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    bars, seen = parts[0].subplots(1, 2)
    colours = {layer.name: f"C{number % 10}" for number, layer in enumerate(boxes)}
    _draw_bars(bars, layers, image.shape[-2:], colours)
    _draw_boxes(seen, boxes, image, colours)
    if down:
        panels = parts[1].subplots(down, across, squeeze=False).flat
        for axes in panels[len(gradients) :]:
            axes.set_axis_off()
        for axes, layer in zip(panels, boxes, strict=False):
            _draw_gradient(axes, layer, gradients[layer.name], colours[layer.name])
    figure.suptitle(title, fontsize=10, parse_math=False)
    save_figure(figure, path)


def _draw_bars(
    axes: Axes,
    layers: Sequence[FieldLayer],
    sides: Sequence[int],
    colours: Mapping[str, str],
) -> None:
    sizes = [_widest(layer) for layer in layers]
    shades = [colours.get(layer.name, "0.8") for layer in layers]
    axes.barh(range(len(layers)), sizes, color=shades)
    axes.axvline(max(sides), color="0.3", linewidth=1, linestyle="--", label="the whole image")
    if len(layers) <= _NAMED:
        names = [layer.name for layer in layers]
        axes.set_yticks(range(len(layers)), names, fontsize=6, parse_math=False)
    else:
        axes.set_ylabel("layer")
    axes.invert_yaxis()
    axes.set_xlabel("pixels that one unit can see, a side")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7)


def _draw_boxes(
    axes: Axes, layers: Sequence[FieldLayer], image: Tensor, colours: Mapping[str, str]
) -> None:
    """The largest first, so that none hides another; what lies outside is padding."""
    draw_picture(axes, image, "what the middle unit of a layer can see")
    for layer in sorted(layers, key=lambda layer: -layer.field.height.size):
        axes.add_patch(_box(layer, colours[layer.name]))
    height, width = image.shape[-2:]
    around = 0.15 * max(height, width)
    axes.set_xlim(-around, width + around)
    axes.set_ylim(height + around, -around)


def _draw_gradient(axes: Axes, layer: FieldLayer, gradient: Tensor, colour: str) -> None:
    """By the fourth root: gradients fall off steeply, and the faint edge is what is looked for."""
    axes.set_axis_off()
    axes.imshow(gradient.pow(0.25).numpy(), cmap="magma", interpolation="nearest")
    axes.add_patch(_box(layer, colour))
    axes.set_title(layer.name, fontsize=7, parse_math=False)
    height, width = gradient.shape
    axes.set_xlim(-0.5, width - 0.5)
    axes.set_ylim(height - 0.5, -0.5)


def _box(layer: FieldLayer, colour: str) -> Rectangle:
    top, bottom = layer.field.height.around(layer.output[0] // 2)
    left, right = layer.field.width.around(layer.output[1] // 2)
    corner = left - 0.5, top - 0.5
    return Rectangle(
        corner, right - left, bottom - top, fill=False, edgecolor=colour, linewidth=1.5
    )
