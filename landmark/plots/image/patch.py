"""Attention of a Vision Transformer over an image, and how alike its positions are."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_heat, draw_picture
from landmark.probes.image.patch import PatchHead

_ACROSS = 6


def save_patches(
    image: Tensor,
    flow: Tensor,
    views: Sequence[tuple[str, Tensor]],
    heads: Sequence[PatchHead],
    patch: tuple[int, int] | None,
    title: str,
    path: Path,
) -> None:
    """The image, the flow through all layers, each head's view; how far all heads look.

    flow and views: (side, side). `patch`: whose view it is, framed; None: what is read in the end.
    """
    down = -(-len(views) // _ACROSS)
    figure = Figure(figsize=(9.6, 3.0 + 1.75 * down), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(3.0, 1.75 * down))[:, 0]
    picture, rolled, distances = above.subplots(1, 3, width_ratios=(1, 1, 1.4))
    draw_picture(picture, image, "image")
    draw_heat(rolled, image, flow, "rollout through all layers", smooth=False)
    _draw_distances(distances, heads)
    if patch is not None:
        size = image.shape[-1] / flow.shape[-1]
        for axes in (picture, rolled):
            _frame(axes, patch, size)
    panels = list(below.subplots(down, _ACROSS, squeeze=False).flat)
    for axes in panels[len(views) :]:
        axes.set_axis_off()
    for axes, (name, view) in zip(panels, views, strict=False):
        draw_heat(axes, image, view, name, smooth=False)
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)


def _frame(axes: Axes, patch: tuple[int, int], size: float) -> None:
    corner = patch[1] * size - 0.5, patch[0] * size - 0.5
    axes.add_patch(Rectangle(corner, size, size, fill=False, edgecolor="C2", linewidth=1.5))


def _draw_distances(axes: Axes, heads: Sequence[PatchHead]) -> None:
    """A dot a head: how far it looks, layer by layer."""
    axes.plot([head.layer for head in heads], [head.distance for head in heads], "o", markersize=4)
    axes.set(xlabel="layer", ylabel="pixels", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("how far each head looks, in the mean", fontsize=8)
    axes.grid(alpha=0.3)


def save_positions(similarity: Tensor, title: str, path: Path) -> None:
    """A small square a patch: the cosine of its position with all others', in their places.

    similarity: (side, side, side, side)
    """
    side = len(similarity)
    each = max(0.35, min(1.0, 7 / side))
    figure = Figure(figsize=(side * each + 1.4, side * each + 0.8), layout="constrained")
    grid = figure.subplots(side, side, squeeze=False)
    for row in range(side):
        for column in range(side):
            axes = grid[row, column]
            axes.set_xticks([])
            axes.set_yticks([])
            shown = axes.imshow(
                similarity[row, column].numpy(), cmap="viridis", vmin=-1, vmax=1,
                interpolation="nearest",
            )  # fmt: skip
            if column == 0:
                axes.set_ylabel(str(row + 1), fontsize=7, rotation=0, labelpad=7, va="center")
            if row == side - 1:
                axes.set_xlabel(str(column + 1), fontsize=7)
    figure.colorbar(shown, ax=grid, label="cosine", shrink=0.6)
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)
