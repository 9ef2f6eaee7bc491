"""Training curves of one or several runs, from their logs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


def save_curves(logs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Training and validation loss against steps and against time, one colour a run."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for number, (name, records) in enumerate(logs.items()):
        colour = f"C{number}"
        training = [r for r in records if r["kind"] == "train" and _loss(r) is not None]
        seconds = {record["step"]: record["seconds"] / 60 for record in training}
        for axes, place in ((by_step, None), (by_time, seconds)):
            _draw(axes, training, place, colour, "-", f"{name}: training", 0.5)
            valid = [r for r in records if r["kind"] == "valid" and "loss" in r]
            _draw(axes, valid, place, colour, "o-", f"{name}: validation", 1.0)
    by_step.set(xlabel="step", ylabel="loss, nats a token")
    by_time.set(xlabel="minutes of training")
    by_step.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _loss(record: Mapping[str, Any]) -> float | None:
    """The plain loss where it is logged, so that it compares with validation."""
    return record.get("nll", record.get("loss"))


def _draw(
    axes: Any,
    records: Sequence[Mapping[str, Any]],
    place: Mapping[int, float] | None,
    colour: str,
    style: str,
    label: str,
    alpha: float,
) -> None:
    points = [
        (r["step"] if place is None else place[r["step"]], _loss(r))
        for r in records
        if place is None or r["step"] in place
    ]
    if points:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, style, color=colour, alpha=alpha, label=label, markersize=3)
