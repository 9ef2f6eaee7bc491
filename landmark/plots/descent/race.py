"""A race as a figure: losses against updates and against seconds, and what each rate led to."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.plots.figure import save_figure
from landmark.racing.result import Curve, Finish, Result, Standing

_UNCORRECTED = "-uncorrected"
"""How a method without its bias correction is called: dashed, in the colour of the one with it."""
_ROOM = 3.0  # curves are cut off at so many times the worst that a method begins or ends with


def save_race(result: Result, path: Path) -> None:
    """Training above, validation below; median lines with bands from the best seed to the worst."""
    kinds = ["train"] + ["valid"] * any(standing.valid for standing in result.standings)
    size = (12, 3.4 * len(kinds) + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(kinds), 3, squeeze=False)
    looks = _looks([standing.method for standing in result.standings])
    for row, kind in zip(axes, kinds, strict=True):
        _draw_row(row, kind, result, looks)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    about = f" ({result.figure})" if result.figure else ""
    figure.suptitle(
        f"{result.race}{about}: {result.steps:,} updates, {_seeds(result.seeds)}", parse_math=False
    )
    save_figure(figure, path)


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"median and band of {count} seeds"


def _looks(methods: Sequence[str]) -> dict[str, tuple[tuple[float, ...], str]]:
    """A colour and a line for each method."""
    families = list(dict.fromkeys(name.removesuffix(_UNCORRECTED) for name in methods))
    palette = colormaps["tab10" if len(families) <= 10 else "tab20"]
    return {
        name: (
            palette(families.index(name.removesuffix(_UNCORRECTED)) % palette.N),
            "--" if name.endswith(_UNCORRECTED) else "-",
        )
        for name in methods
    }


def _draw_row(
    row: Sequence[Axes],
    kind: str,
    result: Result,
    looks: dict[str, tuple[tuple[float, ...], str]],
) -> None:
    """One loss: along updates, along seconds, over rates."""
    for standing in result.standings:
        curve = standing.train if kind == "train" else standing.valid
        colour, line = looks[standing.method]
        if curve:
            updates = [step * standing.pace for step in curve.steps]
            label = f"{standing.method}, {standing.rate:g}"
            _draw(row[0], updates, curve, label, colour, line)
            _draw(row[1], curve.seconds, curve, label, colour, line)
        key = "train_loss" if kind == "train" else "loss"
        ends = [(finish.rate, _value(finish, key)) for finish in standing.search]
        row[2].plot(*zip(*ends, strict=True), color=colour, linestyle=line, marker="o", ms=3)
        lost = [rate for rate, value in ends if math.isnan(value)]
        above = row[2].get_xaxis_transform()
        row[2].plot(lost, [0.97] * len(lost), "x", color=colour, transform=above)
    name = "training" if kind == "train" else "validation"
    paces = {standing.method: standing.pace for standing in result.standings if standing.pace > 1}
    note = "".join(f"; {method}: x {pace}" for method, pace in paces.items())
    row[0].set(xlabel=f"updates{note}", ylabel=f"{name} loss")
    row[1].set(xlabel="seconds of updates")
    row[2].set(xlabel="rate (first seed); x: diverged", xscale="log")
    limits = _limits(result.standings, kind)
    for axes in row:
        axes.grid(alpha=0.3)
        if limits:
            axes.set_ylim(*limits)
            axes.set_yscale("log" if limits[0] > 0 and limits[1] > 4 * limits[0] else "linear")


def _value(finish: Finish, key: str) -> float:
    value: float = getattr(finish, key)
    return value if math.isfinite(value) else math.nan


def _draw(
    axes: Axes,
    places: Sequence[float],
    curve: Curve,
    label: str,
    colour: tuple[float, ...],
    line: str,
) -> None:
    median, low, high = (
        np.where(np.isfinite(values), values, np.nan)
        for values in (np.array(curve.median), np.array(curve.low), np.array(curve.high))
    )
    axes.plot(places, median, color=colour, linestyle=line, label=label)
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)


def _limits(standings: Sequence[Standing], kind: str) -> tuple[float, float] | None:
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
