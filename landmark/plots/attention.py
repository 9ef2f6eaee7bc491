"""Attention within a text as pictures: heads as heat maps, one token's view as bars."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.gate import readable

_NAMED = 28  # tokens of a text that small panels still name
_COLOURS = "Blues"  # paper's white is no attention, which also shows what may not be seen


def label(piece: str) -> str:
    """A token as a label, without the space before it."""
    return readable(piece.strip(" ") or piece)


def save_head(names: Sequence[str], weights: Tensor, title: str, path: Path) -> None:
    """One head: each row's token looks at the columns' tokens. weights: (T, T)"""
    side = 1.2 + 0.3 * len(names)
    figure = Figure(figsize=(max(4.5, side + 1.2), max(3.5, side)), layout="constrained")
    axes = figure.subplots()
    image = _draw(axes, names, weights, font=8)
    if len(names) <= _NAMED:
        for y, row in enumerate(weights.tolist()):
            for x, weight in enumerate(row):
                if weight >= 0.1:
                    colour = "white" if weight > 0.6 else "black"
                    axes.text(
                        x, y, f"{weight:.1f}".lstrip("0"), ha="center", va="center",
                        fontsize=6, color=colour,
                    )  # fmt: skip
    axes.set_title(title, fontsize=10, parse_math=False)
    figure.colorbar(image, ax=axes, label="attention", shrink=0.8)
    save_figure(figure, path)


def save_heads(
    names: Sequence[str],
    weights: Tensor,
    layers: Sequence[int],
    heads: Sequence[int],
    title: str,
    path: Path,
) -> None:
    """Several: layers down, heads across; one layer alone fills several lines.

    weights: (layers, heads, T, T)
    """
    panels = [
        (f"layer {layer}, head {head}", weights[row, column])
        for row, layer in enumerate(layers)
        for column, head in enumerate(heads)
    ]
    columns = len(heads) if len(layers) > 1 else min(4, len(panels))
    rows = -(-len(panels) // columns)
    named = len(names) <= _NAMED
    side = 0.5 + (0.13 * len(names) if named else 1.5) + 0.6 * named
    figure = Figure(figsize=(columns * side + 0.8, rows * side + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    image = None
    for number, axes in enumerate(grid.flat):
        if number >= len(panels):
            axes.set_axis_off()
            continue
        name, values = panels[number]
        image = _draw(axes, names if named else (), values, font=5)
        axes.set_title(name, fontsize=7)
    figure.suptitle(title, fontsize=10, parse_math=False)
    if image is not None:
        figure.colorbar(image, ax=grid, label="attention", shrink=0.5)
    save_figure(figure, path)


def save_view(
    names: Sequence[str], weights: Tensor, token: int, heads: Sequence[int], title: str, path: Path
) -> None:
    """What one token looks at: a row of bars a head. weights: (heads, T)"""
    size = max(5.0, 1.5 + 0.32 * len(names)), 1.4 + 0.62 * len(heads)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(heads), 1, sharex=True, squeeze=False)[:, 0]
    places, highest = range(len(names)), max(0.1, float(weights.max()))
    for axes, head, values in zip(panels, heads, weights.tolist(), strict=True):
        most = max(places, key=values.__getitem__)
        axes.bar(places, values, color=["C3" if place == most else "C0" for place in places])
        axes.set(ylim=(0, highest), yticks=(0, highest), yticklabels=("0", f"{highest:.0%}"))
        axes.tick_params(labelsize=6)
        axes.set_ylabel(f"{head}", rotation=0, fontsize=9, labelpad=10, va="center")
        axes.spines[["top", "right"]].set_visible(False)
    _name(panels[-1], "x", names, font=8)
    panels[-1].get_xticklabels()[token].set_fontweight("bold")
    panels[0].set_title(title, fontsize=10, parse_math=False)
    figure.supylabel("head", fontsize=9)
    save_figure(figure, path)


def _draw(axes: Axes, names: Sequence[str], weights: Tensor, font: int) -> AxesImage:
    """A heat map; without names, without ticks."""
    image = axes.imshow(
        weights.numpy(), cmap=_COLOURS, vmin=0, vmax=1, aspect="equal", interpolation="nearest"
    )
    _name(axes, "x", names, font)
    _name(axes, "y", names, font)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return image


def _name(axes: Axes, side: str, names: Sequence[str], font: int) -> None:
    labels = [label(name) for name in names]
    place = axes.set_xticks if side == "x" else axes.set_yticks
    turn = 90 if side == "x" and max(map(len, labels), default=0) > 1 else 0
    # A "$" in a text is no formula.
    place(range(len(labels)), labels, fontsize=font, rotation=turn, parse_math=False)
