"""What a language model would say next, place by place: surprise above, expectations below."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from landmark.plots.figure import save_figure
from landmark.plots.gate import readable


class Row(NamedTuple):
    """A place of a text, with tokens as they read."""

    token: str | None
    """What really came; None where the text has ended."""
    probability: float | None
    rank: int | None
    surprisal: float | None
    expected: list[tuple[str, float]]
    """The likeliest tokens first."""


def save_predictions(rows: Sequence[Row], title: str, path: Path) -> None:
    """A column a place: the surprise in bits, and the likeliest tokens; what came is framed."""
    top = len(rows[0].expected)
    longest = max(len(readable(name)) for row in rows for name, _ in row.expected)
    size = 1.8 + len(rows) * max(0.34, 0.085 * longest + 0.1), 2.6 + 0.3 * top
    figure = Figure(figsize=(max(5.0, size[0]), size[1]), layout="constrained")
    surprise, table = figure.subplots(2, 1, sharex=True, height_ratios=(1.4, 0.3 * top))
    bits = [row.surprisal or 0.0 for row in rows]
    surprise.bar(range(len(rows)), bits, color="0.6")
    surprise.set_ylabel("surprisal, bits")
    surprise.spines[["top", "right"]].set_visible(False)
    surprise.set_title(title, fontsize=10, parse_math=False)
    image = table.imshow(
        [[row.expected[place][1] for row in rows] for place in range(top)],
        cmap="Blues",
        vmin=0,
        vmax=1,
        aspect="auto",
    )
    _write(table, rows)
    names = ["?" if row.token is None else readable(row.token) for row in rows]
    turn = 90 if max(map(len, names)) > 1 else 0
    table.set_xticks(range(len(rows)), names, rotation=turn, fontsize=8, parse_math=False)
    table.set_yticks(range(top), [str(place + 1) for place in range(top)])
    table.set(xlabel="what really came", ylabel="expected, by rank")
    figure.colorbar(image, ax=[surprise, table], label="probability", shrink=0.6)
    save_figure(figure, path)


def _write(axes: Axes, rows: Sequence[Row]) -> None:
    for x, row in enumerate(rows):
        for y, (name, probability) in enumerate(row.expected):
            axes.text(
                x,
                y,
                readable(name),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if probability > 0.6 else "black",
                parse_math=False,  # a "$" in a text is no formula
            )
        if row.rank is not None and row.rank <= len(row.expected):
            corner = (x - 0.47, row.rank - 1.47)
            axes.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="C3", lw=1.5))
