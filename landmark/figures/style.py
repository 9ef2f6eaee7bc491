"""One look for all figures: colours that all tell apart, sizes, titles and legends."""

from textwrap import wrap
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


def tiles(
    count: int, across: int, size: tuple[float, float] = PANEL, **options: Any
) -> "tuple[Figure, list[Axes]]":
    """So many panels, in rows of at most `across`; nothing where the last row has no more."""
    columns = max(1, min(across, count))
    figure, grid = panels(max(1, -(-count // columns)), columns, size, **options)
    for axes in grid.flat[count:]:
        axes.remove()
    return figure, list(grid.flat[:count])


def colour(number: int) -> str:
    """The colour of the n-th line."""
    return COLOURS[number % len(COLOURS)]


def heading(figure: "Figure", text: str, size: int = 10) -> None:
    """A title above all panels, in as many lines as the figure's width asks for: never cut."""
    inches = 0.95 * figure.bbox.width / figure.dpi
    figure.suptitle(_break(text, inches, size), fontsize=size, parse_math=False)


def tidy(axes: "Axes") -> None:
    """A pale grid behind the lines, and no frame above and to the right."""
    axes.set_axisbelow(True)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.tick_params(which="both", labelsize=8, color="0.6")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("0.6")


def title(axes: "Axes", text: str, size: int = 9) -> None:
    """A panel's title, in as many lines as its panel's width asks for: never cut."""
    figure, place = axes.get_figure(), axes.get_subplotspec()
    assert figure is not None
    share = 1.0 if place is None else len(place.colspan) / place.get_gridspec().ncols
    inches = 0.85 * share * figure.bbox.width / figure.dpi
    axes.set_title(_break(text, inches, size), fontsize=size, parse_math=False)


def _break(text: str, inches: float, size: int) -> str:
    """Lines no wider than so many inches; matplotlib's own wrapping knows no panels."""
    columns = max(12, int(72 * inches / (0.58 * size)))
    return "\n".join(line for part in text.splitlines() for line in wrap(part, columns))


def add_legend(axes: "Axes", outside: bool = False) -> None:
    """A legend that covers no line: below the panel, or where matplotlib finds room."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    if outside or len(labels) > 4:
        columns = 2 if len(labels) > 3 else 1
        points = 32 if axes.get_xlabel() else 18  # of the numbers and the name of the x-axis
        figure = axes.get_figure()
        assert figure is not None
        below = ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)
        legend = axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=axes.transAxes + below,
            borderaxespad=0, ncols=columns, fontsize=8, frameon=False,
        )  # fmt: skip
    else:
        legend = axes.legend(loc="best", fontsize=8, framealpha=0.85)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a "$" in a name is no formula


_SIGNS = {"\n": "↵", " ": "␣", "\t": "⇥"}


def readable(piece: str) -> str:
    """A token as a label: a sign stands for what does not print."""
    return "".join(_SIGNS.get(c, c if c.isprintable() else "·") for c in piece)


def token_label(piece: str) -> str:
    """A token as a label, without the space before it."""
    return readable(piece.strip(" ") or piece)


def shorten(label: str, most: int = 24) -> str:
    """A label of at most so many letters, cut in the middle: both ends tell names apart."""
    end = (most - 1) // 2
    return label if len(label) <= most else f"{label[: most - 1 - end]}…{label[-end:]}"


def scale_logarithmically(axes: "Axes") -> None:
    """Both axes logarithmic, with numbers that are written out and do not meet."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, ScalarFormatter

    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
