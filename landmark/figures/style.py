"""One look for all figures: colours that all tell apart, sizes, titles and legends."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito 2008: told apart with every kind of colour vision."""
LINES = ("-", "--", ":", "-.")
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
MOST_LINES = 6
"""Lines a panel at the most; more panels rather than more lines."""
PANEL = (4.2, 3.4)
"""Inches of a panel."""


def panels(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = PANEL, **options: Any
) -> "tuple[Figure, Any]":
    """A figure of equal panels; `options` go to matplotlib's subplots. Axes: (rows, columns)."""
    from matplotlib.figure import Figure

    width, height = size
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def colour(number: int) -> str:
    """The colour of the n-th line."""
    return COLOURS[number % len(COLOURS)]


def title(axes: "Axes", text: str) -> None:
    """A panel's title, wrapped so that it is never cut."""
    axes.set_title(text, fontsize=9, wrap=True, parse_math=False)


def add_legend(axes: "Axes", outside: bool = False) -> None:
    """A legend that covers no line: below the panel, or where matplotlib finds room."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    if outside or len(labels) > 4:
        columns = 2 if len(labels) > 3 else 1
        legend = axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=columns, fontsize=8,
            frameon=False,
        )  # fmt: skip
    else:
        legend = axes.legend(loc="best", fontsize=8, framealpha=0.85)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a "$" in a name is no formula
