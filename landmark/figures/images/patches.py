"""Attention of a Vision Transformer: the heads of a layer, and attention rollout."""

import re
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

    from landmark.probes.image.patch import PatchHead

_PLACE = re.compile(r"(\d+),(\d+)")
_ACROSS = 6  # heads in a row


@settings
class Options(ImageOptions):
    """Which image, which layer, which patch."""

    layer: int | None = None
    """Layer, from 1; default: the last."""
    patch: str | None = None
    """Show the attention of this patch, as row,column from 1; default: what the classifier reads.
    """
    output: Path = Path("patches.png")
    """Output file."""


@dataclass(frozen=True)
class PatchViews:
    """An image, and where attention goes in it."""

    run: str
    image: str
    shown: "Tensor"
    """(C, H, W) of 0 to 1"""
    layer: int
    patch: str | None
    rollout: "Tensor"
    """Through all layers. (side, side)"""
    views: "Tensor"
    """Of each head of the layer. (heads, side, side)"""
    heads: "list[PatchHead]"
    """Of all layers."""

    def json(self) -> dict[str, Any]:
        names = ("image", "layer", "patch", "rollout", "views", "heads")
        return {name: plain(getattr(self, name)) for name in names}


def compute(options: Options, report: Report) -> PatchViews:
    """Feed the image, and keep the attention of every head."""
    from landmark.core.errors import UserError
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.patch import (
        describe_patch_heads,
        patch_attention,
        patch_view,
        read_view,
        rollout,
    )

    place = read_place(options.patch)
    viewer = open_viewer(options.run, options.checkpoint, options.device)
    network: Any = viewer.vision_transformer()
    view = viewer.view(options.image)
    weights = patch_attention(network, view.given)
    layer = options.layer or len(weights)
    if not 1 <= layer <= len(weights):
        raise UserError(f"layer {layer}: the network has the layers 1 to {len(weights)}")
    both = rollout(weights), weights[layer - 1]
    flow, seen = (read_view(w) if place is None else patch_view(w, *place) for w in both)
    heads = describe_patch_heads(weights, network.config.patch_size)
    return PatchViews(
        options.name, view.name, view.shown, layer, options.patch, flow, seen, heads
    )  # fmt: skip


def read_place(patch: str | None) -> tuple[int, int] | None:
    """row,column from 1 as row and column from 0."""
    from landmark.core.errors import UserError

    if patch is None:
        return None
    match = _PLACE.fullmatch(patch)
    if not match:
        raise UserError(f"--patch {patch}: is not a position: write row,column, as 3,5")
    return int(match[1]) - 1, int(match[2]) - 1


def table(record: PatchViews) -> list[str]:
    """A line a head."""
    head = f"{'layer':>5}{'head':>6}{'distance':>13}{'class token':>13}{'entropy':>12}"
    return [
        head,
        *(
            f"{one.layer:>5}{one.head:>6}{one.distance:>10.1f} px{one.to_class:>13.0%}"
            f"{one.entropy:>7.2f} bits"
            for one in record.heads
        ),
    ]


def draw(record: PatchViews) -> "Figure":
    """The image, the flow through all layers, each head's view; how far all heads look."""
    from matplotlib.figure import Figure

    from landmark.figures.images.picture import draw_heat, draw_picture

    across = min(_ACROSS, len(record.views))
    down = -(-len(record.views) // across)
    figure = Figure(figsize=(9.6, 3.2 + 1.9 * down), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(3.2, 1.9 * down))[:, 0]
    picture, rolled, distances = above.subplots(1, 3, width_ratios=(1, 1, 1.4))
    draw_picture(picture, record.shown, "image")
    draw_heat(rolled, record.shown, record.rollout, "rollout through all layers")
    _draw_distances(distances, record.heads)
    place = read_place(record.patch)
    if place is not None:
        size = record.shown.shape[-1] / record.rollout.shape[-1]
        for axes in (picture, rolled):
            _frame(axes, place, size)
    panels = list(below.subplots(down, across, squeeze=False).flat)
    for axes in panels:
        axes.set_axis_off()
    for number, (axes, view) in enumerate(zip(panels, record.views, strict=False), 1):
        name = f"layer {record.layer}, head {number}"
        draw_heat(axes, record.shown, view, name)
    whose = "what the classifier reads" if record.patch is None else f"patch {record.patch}"
    style.heading(figure, f"{record.run}, {record.image}: attention of {whose}")
    return figure


def _frame(axes: "Axes", patch: tuple[int, int], size: float) -> None:
    from matplotlib.patches import Rectangle

    corner = patch[1] * size - 0.5, patch[0] * size - 0.5
    axes.add_patch(
        Rectangle(corner, size, size, fill=False, edgecolor=style.colour(2), linewidth=1.8)
    )


def _draw_distances(axes: "Axes", heads: "list[PatchHead]") -> None:
    """A dot a head: how far it looks, layer by layer."""
    from matplotlib.ticker import MaxNLocator

    axes.plot(
        [head.layer for head in heads], [head.distance for head in heads], "o",
        markersize=4, color=style.colour(0), clip_on=False,
    )  # fmt: skip
    axes.set(xlabel="layer", ylabel="pixels", ylim=(0, 1.05 * max(h.distance for h in heads)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.title(axes, "mean distance that each head looks")
    style.tidy(axes)
