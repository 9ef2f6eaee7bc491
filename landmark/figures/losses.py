"""Training and validation losses of runs, from their logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.opening import name_runs
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]
Kind = Literal["train", "valid"]
Measure = Literal["step", "tokens", "minutes"]
Points = dict[str, list[dict[str, float]]]
Curves = Mapping[str, Mapping[Kind, Points]]
"""By run, kind and loss: each value with the step, tokens and minutes that it was at."""
_AXES = {"step": "step", "tokens": "tokens trained on", "minutes": "minutes of training"}
_DIGITS = {"step": 0, "tokens": 0, "minutes": 1}
_KINDS: dict[Kind, tuple[str, dict[str, Any]]] = {
    "train": ("training", {"alpha": 0.5}),
    "valid": ("validation", {"marker": "o", "markersize": 3}),
}


@settings
class Options:
    runs: Annotated[tuple[Path, ...], Positional("RUN...")]
    """Run directories."""
    by: Measure = "step"
    """Quantity on the x axis."""
    log: bool = False
    """Logarithmic axes (a power law is a straight line)."""
    output: Path = Path("losses.png")
    """Output file."""


@dataclass(frozen=True)
class Losses:
    """The loss curves of runs."""

    by: Measure
    runs: Curves
    logarithmic: bool = False

    def json(self) -> dict[str, Any]:
        return {"by": self.by, "runs": self.runs}


def compute(options: Options, report: Report) -> Losses:
    """Every loss that the runs' logs tell."""
    from landmark.engine.run import Run

    runs = name_runs(options.runs)
    curves = {name: loss_curves(Run.open(run).read_log()) for name, run in runs.items()}
    for name, kinds in curves.items():
        points = [p for kind in kinds.values() for curve in kind.values() for p in curve]
        if not points:
            raise UserError(f"{name}: its log has no loss yet: train it first")
        if not any(options.by in point for point in points):
            raise UserError(f"{name}: its log does not contain {options.by}: choose another --by")
    return Losses(options.by, curves, options.log)


def loss_curves(records: Records) -> dict[Kind, Points]:
    """A log's training and validation losses."""
    return {kind: loss_points(records, kind) for kind in _KINDS}


def loss_points(records: Records, kind: Kind) -> Points:
    """Losses by name, each with its step and, if the log tells, its tokens and minutes."""
    import numpy as np

    places = {by: _places(records, by) for by in ("tokens", "minutes")}
    curves: Points = {}
    for name, (steps, values) in _losses([r for r in records if r["kind"] == kind]).items():
        curves[name] = [
            {"loss": value, "step": step} for step, value in zip(steps, values, strict=True)
        ]
        for by, (known, reached) in places.items():
            if known:  # a validation lies between two records that know
                for point, place in zip(
                    curves[name], np.interp(steps, known, reached), strict=True
                ):
                    point[by] = float(place)
    return curves


def _places(records: Records, by: str) -> tuple[list[float], list[float]]:
    """Steps that a log knows the measure of, and how far it was there."""
    if by == "minutes":
        timed = [record for record in records if "seconds" in record]
        return [r["step"] for r in timed], [r["seconds"] / 60 for r in timed]
    counted = [r for r in records if r["kind"] == "train" and "weight" in r]
    totals = accumulate(record["weight"] for record in counted)
    # Before its first step a training has seen nothing.
    return ([0.0, *(r["step"] for r in counted)], [0.0, *totals]) if counted else ([], [])


def _losses(records: Records) -> dict[str, tuple[list[int], list[float]]]:
    """Steps and values of the loss; of each player's (`generator_loss`) where there are several."""
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        # The plain loss where it is logged: it compares with validation.
        losses = {"loss": record.get("nll", record.get("loss"))}
        losses |= {k.replace("_", " "): v for k, v in record.items() if k.endswith("_loss")}
        for name, value in losses.items():
            if value is not None:
                steps, values = curves.setdefault(name, ([], []))
                steps.append(record["step"])
                values.append(value)
    return curves


def draw(record: Losses) -> "Figure":
    """All curves in one panel; if they are many, training and validation apart."""
    groups = _share_out(record.runs)
    columns = min(2, len(groups))
    size = (8.0, 5.0) if columns == 1 else (5.5, 4.5)
    figure, grid = style.panels(-(-len(groups) // columns), columns, size, sharex=True, sharey=True)
    colours = _colours(record.runs)
    for axes, (kinds, runs) in zip(grid.flat, groups, strict=True):
        _draw_panel(axes, runs, kinds, record.by, colours)
        axes.set(ylabel="loss, nats")
        if record.logarithmic:
            style.scale_logarithmically(axes)
            axes.grid(alpha=0.3, which="both")
        style.add_legend(axes)
    return figure


def draw_comparison(runs: Curves) -> "Figure":
    """Losses against steps on the left and against time on the right."""
    groups = _share_out(runs)
    figure, grid = style.panels(len(groups), 2, (5.5, 4.5), sharex="col", sharey=True)
    colours = _colours(runs)
    for (left, right), (kinds, shown) in zip(grid, groups, strict=True):
        _draw_panel(left, shown, kinds, "step", colours)
        _draw_panel(right, shown, kinds, "minutes", colours)
        style.add_legend(left)
        left.set(ylabel="loss")
    return figure


def save_comparison(logs: Mapping[str, Records], path: Path) -> None:
    """Draw the training curves of several logs to a file."""
    save_picture(draw_comparison({name: loss_curves(log) for name, log in logs.items()}), path)


def _share_out(runs: Curves) -> list[tuple[tuple[Kind, ...], Curves]]:
    """What each panel shows, so that none has too many lines."""
    counts = [len(points) for kinds in runs.values() for points in kinds.values()]
    if sum(counts) <= style.MOST_LINES:
        return [(tuple(_KINDS), runs)]
    together, names = max(1, style.MOST_LINES // max(counts)), list(runs)
    return [
        ((kind,), {name: runs[name] for name in names[start : start + together]})
        for start in range(0, len(names), together)
        for kind in _KINDS
    ]


def _colours(runs: Curves) -> dict[str, str]:
    return {name: style.colour(number) for number, name in enumerate(runs)}


def _draw_panel(
    axes: "Axes", runs: Curves, kinds: Sequence[Kind], by: Measure, colours: Mapping[str, str]
) -> None:
    from matplotlib.ticker import EngFormatter

    for name, curves in runs.items():
        for kind in kinds:
            word, look = _KINDS[kind]
            for (loss, points), line in zip(curves[kind].items(), style.LINES, strict=False):
                drawn = [point for point in points if by in point]
                own: dict[str, Any] = {**look, "color": colours[name], "linestyle": line}
                if len(kinds) == 1:
                    own["alpha"] = 1.0
                if len(drawn) == 1:  # where there is no line to see
                    own |= {"marker": "o", "markersize": 3}
                if drawn:
                    places, values = [p[by] for p in drawn], [p["loss"] for p in drawn]
                    axes.plot(places, values, label=f"{name}: {word} {loss}", **own)
    if len(kinds) == 1:
        style.title(axes, _KINDS[kinds[0]][0])
    if by == "tokens":
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.set(xlabel=_AXES[by])
    style.tidy(axes)


def table(record: Losses) -> list[str]:
    """Each run's last training loss, and its best validation and when that was."""
    curves = record.runs
    width = max(12, *(len(name) + 2 for name in curves))
    head = f"{'run':<{width}}{'training':>10}{'validation':>12}{'step':>10}{'tokens':>14}"
    lines = [f"{head}{'minutes':>10}"]
    for name, kinds in curves.items():
        last = kinds["train"].get("loss", [])[-1:]
        best: dict[str, float] = min(
            kinds["valid"].get("loss", []), key=lambda point: point["loss"], default={}
        )
        training = f"{last[0]['loss']:.4f}" if last else "-"
        validation = f"{best['loss']:.4f}" if best else "-"
        place = best or (last[0] if last else {})
        facts = [f"{place[by]:,.{n}f}" if by in place else "-" for by, n in _DIGITS.items()]
        lines.append(
            f"{name:<{width}}{training:>10}{validation:>12}{facts[0]:>10}{facts[1]:>14}"
            f"{facts[2]:>10}"
        )
    return lines
