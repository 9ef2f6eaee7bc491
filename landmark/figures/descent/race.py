"""A race as a figure: losses against updates and against seconds, and what each rate led to.

`landmark race` draws it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from landmark.figures import style
from landmark.figures.figure import save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from landmark.racing.result import Curve, OptimizerResult, RaceResult, TrialResult

_UNCORRECTED = "-uncorrected"
"""How a method without its bias correction is called: dashed, in the colour of the one with it."""
_ROOM = 3.0  # curves are cut off at so many times the worst that a method begins or ends with


@dataclass(frozen=True)
class Look:
    """How a method is drawn: those that do the same as it show in the gaps of its line."""

    colour: str
    line: str
    place: int
    """Among the methods of its row, from 0."""
    hidden: int
    """How many earlier ones of its row do the same."""

    def drawn(self) -> dict[str, Any]:
        line: Any = (2 * self.hidden, (2, 4)) if self.hidden else self.line
        return {"color": self.colour, "linestyle": line, "linewidth": 1.6}


def save_race(result: "RaceResult", path: Path) -> None:
    """Draw a race, and write the picture."""
    save_picture(draw_race(result), path)


def draw_race(result: "RaceResult") -> "Figure":
    """Rows of at most six methods, training above, validation below.

    Lines are medians of seeds, with bands from the best seed to the worst; every row of one loss
    has the same scale, so that methods in different rows can be compared.
    """
    kinds = ["train"] + ["valid"] * any(standing.valid for standing in result.standings)
    groups = _groups(result.standings)
    rows = len(kinds) * len(groups)
    figure, grid = style.panels(rows, 3, size=(4.2, 3.2))
    for column in (1, 2):
        for axes in grid[1:, column]:
            axes.sharex(grid[0, column])
    pairs = [(kind, looks) for kind in kinds for looks in groups]
    for row, (kind, looks) in zip(grid, pairs, strict=True):
        _draw_row(row, kind, result.standings, looks)
    paces = {one.method: one.pace for one in result.standings if one.pace > 1}
    note = "".join(f"; {method}: x {pace}" for method, pace in paces.items())
    for axes, said in zip(
        grid[-1],
        (
            f"updates{note}",
            "seconds of updates",
            "learning rate (x diverged, ▲ above the panel)",
        ),
        strict=True,
    ):
        axes.set_xlabel(said, fontsize=9)
    about = f" ({result.figure})" if result.figure else ""
    said = f"{result.race}{about}: {result.steps:,} updates, {_seeds(result.seeds)}"
    style.heading(figure, said)
    return figure


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"median and band of {count} seeds"


def _groups(standings: "Sequence[OptimizerResult]") -> list[dict[str, Look]]:
    """Methods a row, each with its look; one without correction stays with the one that has it."""
    curves = {standing.method: np.array(standing.train.median) for standing in standings}
    families: dict[str, list[str]] = {}
    for name in curves:
        families.setdefault(name.removesuffix(_UNCORRECTED), []).append(name)
    groups: list[dict[str, Look]] = [{}]
    colours = 0
    for names in families.values():
        if len(groups[-1]) + len(names) > style.MOST_LINES:
            groups.append({})
            colours = 0
        for name in names:
            line = "--" if name.endswith(_UNCORRECTED) else "-"
            hidden = sum(_coincide(curves[name], curves[other]) for other in groups[-1])
            groups[-1][name] = Look(style.colour(colours), line, len(groups[-1]), hidden)
        colours += 1
    return groups


def _coincide(one: "NDArray[np.float64]", other: "NDArray[np.float64]") -> bool:
    """Whether the later line would hide the earlier."""
    return one.shape == other.shape and np.allclose(one, other, rtol=0.01, equal_nan=True)


def _draw_row(
    row: "Sequence[Axes]",
    kind: str,
    standings: "Sequence[OptimizerResult]",
    looks: Mapping[str, Look],
) -> None:
    """One loss of some methods: along updates, along seconds, over rates."""
    limits = _limits(standings, kind)
    for standing in standings:
        if standing.method not in looks:
            continue
        curve = standing.train if kind == "train" else standing.valid
        look = looks[standing.method]
        if curve:
            updates = [step * standing.pace for step in curve.steps]
            _draw(row[0], updates, curve, look)
            _draw(row[1], curve.seconds, curve, look)
        label = f"{standing.method}, {standing.rate:g}"
        _draw_search(row[2], standing.search, kind, limits, look, label)
    row[0].set_ylabel(f"{'training' if kind == 'train' else 'validation'} loss")
    row[2].set_xscale("log")
    row[2].legend(
        loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8, frameon=False,
        handlelength=3, title="method, learning rate", title_fontsize=8,
    )  # fmt: skip
    for axes in row:
        style.tidy(axes)
        if limits:
            axes.set_yscale("log" if limits[0] > 0 and limits[1] > 4 * limits[0] else "linear")
            axes.set_ylim(*limits)


def _draw_search(
    axes: "Axes",
    search: "Sequence[TrialResult]",
    kind: str,
    limits: tuple[float, float] | None,
    look: Look,
    label: str,
) -> None:
    """The loss in the end by rate; what has none, or one above the panel, is marked at its top."""
    ends = [
        (finish.rate, finish.train_loss if kind == "train" else finish.loss) for finish in search
    ]
    top = limits[1] if limits else math.inf
    found = [(rate, min(value, top) if math.isfinite(value) else math.nan) for rate, value in ends]
    size = 4.5 - 1.3 * min(look.hidden, 2)
    axes.plot(*zip(*found, strict=True), **look.drawn(), marker="o", ms=size, label=label)
    lost = [rate for rate, value in ends if not math.isfinite(value)]
    higher = [rate for rate, value in ends if math.isfinite(value) and value > top]
    # Lines lead to what is above the panel; many methods diverge at one rate, so their marks stack.
    for rates, marker, height in ((lost, "x", 0.95 - 0.05 * look.place), (higher, "^", 1)):
        axes.plot(
            rates, [height] * len(rates), marker, color=look.colour, ms=6,
            transform=axes.get_xaxis_transform(), clip_on=False, in_layout=False,
        )  # fmt: skip


def _draw(axes: "Axes", places: Sequence[float], curve: "Curve", look: Look) -> None:
    median, low, high = (
        np.where(np.isfinite(values), values, np.nan)
        for values in (np.array(curve.median), np.array(curve.low), np.array(curve.high))
    )
    axes.plot(places, median, **look.drawn())
    axes.fill_between(places, low, high, color=look.colour, alpha=0.15, linewidth=0)


def _limits(standings: "Sequence[OptimizerResult]", kind: str) -> tuple[float, float] | None:
    """From the lowest loss to where methods begin: one that leaps must not hide the others."""
    curves = [s.train if kind == "train" else s.valid for s in standings]
    values = [
        [value for value in curve.median if math.isfinite(value)] for curve in curves if curve
    ]
    values = [found for found in values if found]
    if not values:
        return None
    key = "train_loss" if kind == "train" else "loss"
    ends = [getattr(finish, key) for standing in standings for finish in standing.search]
    lowest = min(*(min(found) for found in values), *ends)
    highest = max(max(found) for found in values)
    usual = float(np.median([found[0] for found in values]))
    top = min(highest, _ROOM * usual) if usual > 0 else highest
    if lowest > 0:
        return lowest / 1.1, max(top * 1.1, lowest * 1.2)
    return lowest - 0.05 * abs(top - lowest), top + 0.05 * abs(top - lowest)
