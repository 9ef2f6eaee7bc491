"""Training curves of one or several runs, from their logs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]


def save_curves(logs: Mapping[str, Records], path: Path) -> None:
    """Training and validation loss against steps and against time, one colour a run."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for number, (name, records) in enumerate(logs.items()):
        training = [record for record in records if record["kind"] == "train"]
        times = [record["seconds"] / 60 for record in training]
        steps = [record["step"] for record in training]
        for kind, style, alpha in (("train", "-", 0.5), ("valid", "o-", 1.0)):
            for loss, points in _curves([r for r in records if r["kind"] == kind]).items():
                x, y = zip(*points, strict=True)
                look = {"color": f"C{number}", "alpha": alpha, "markersize": 3}
                by_step.plot(x, y, style, label=f"{name}: {loss} ({kind})", **look)
                # A validation has no time of its own: it lies between two records that have.
                by_time.plot(np.interp(x, steps, times), y, style, **look)
    by_step.set(xlabel="step", ylabel="loss")
    by_time.set(xlabel="minutes of training")
    if by_step.lines:
        by_step.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _curves(records: Records) -> dict[str, list[tuple[int, float]]]:
    """Step and value of each loss: a single player's, or each player's (`generator_loss`)."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        for key, value in record.items():
            if key.endswith("_loss") or (key == "loss" and "nll" not in record):
                curves.setdefault(key.replace("_", " "), []).append((record["step"], value))
            elif key == "nll":  # without label smoothing, it compares with validation
                curves.setdefault("loss", []).append((record["step"], value))
    return curves
