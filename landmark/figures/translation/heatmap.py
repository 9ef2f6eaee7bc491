"""Attention as a heat map: in the terminal, and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from landmark.figures import style
from landmark.figures.figure import save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

_SHADES = " ░▒▓█"


def terminal_heatmap(columns: Sequence[str], rows: Sequence[str], weights: "Tensor") -> Table:
    """Rows look at columns: a shade and the percentage. weights: (rows, columns), rows sum to 1."""
    table = Table(box=None, padding=(0, 1), collapse_padding=True, show_edge=False)
    table.add_column("")
    for column in columns:
        table.add_column(Text(column.strip() or column), justify="center")
    for row, values in zip(rows, weights.tolist(), strict=True):
        table.add_row(Text(row.strip() or row, style="bold"), *(_cell(value) for value in values))
    return table


def _cell(weight: float) -> Text:
    shade = _SHADES[min(len(_SHADES) - 1, int(weight * len(_SHADES)))]
    level = 235 + round(weight * 20)  # the terminal's greys: 232 black to 255 white
    percent = f"{100 * weight:3.0f}" if weight >= 0.005 else "  ·"
    return Text(f"{shade * 2}{percent}", style=f"color({min(255, level)})")


def save_heatmap(
    columns: Sequence[str], rows: Sequence[str], weights: "Tensor", title: str, path: Path
) -> None:
    """Draw the same as a picture to a file."""
    save_picture(draw(columns, rows, weights, title), path)


def draw(columns: Sequence[str], rows: Sequence[str], weights: "Tensor", title: str) -> "Figure":
    """A shade for each pair of pieces, and the weight where it is at least a tenth."""
    from matplotlib.figure import Figure

    size = max(4.5, 1.6 + 0.6 * len(columns)), 1.6 + 0.45 * len(rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    # A "$" in a sentence is no formula.
    names = [column.strip() for column in columns]
    axes.set_xticks(range(len(columns)), names, rotation=45, ha="left", parse_math=False)
    axes.set_yticks(range(len(rows)), [row.strip() for row in rows], parse_math=False)
    axes.xaxis.tick_top()
    for y, values in enumerate(weights.tolist()):
        for x, value in enumerate(values):
            if value >= 0.1:
                colour = "white" if value > 0.6 else "black"
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    style.heading(figure, title)
    figure.colorbar(image, label="attention")
    return figure
