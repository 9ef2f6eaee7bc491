"""Training curves of one or several runs, from their logs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]
_STYLES = ("-", "--", ":", "-.")  # one a player


def save_curves(logs: Mapping[str, Records], path: Path) -> None:
    """Training and validation losses against steps and against time, one colour a run."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for number, (name, records) in enumerate(logs.items()):
        timed = [record for record in records if "seconds" in record]
        known = [record["step"] for record in timed]
        minutes = [record["seconds"] / 60 for record in timed]
        for kind, word, look in (
            ("train", "training", {"alpha": 0.5}),
            ("valid", "validation", {"marker": "o", "markersize": 3}),
        ):
            curves = _losses([record for record in records if record["kind"] == kind])
            for (loss, (steps, values)), style in zip(curves.items(), _STYLES, strict=False):
                look = {**look, "color": f"C{number}", "linestyle": style}
                by_step.plot(steps, values, label=f"{name}: {word} {loss}", **look)
                if timed:  # a validation lies between two records that have a time
                    by_time.plot(np.interp(steps, known, minutes), values, **look)
    by_step.set(xlabel="step", ylabel="loss")
    by_time.set(xlabel="minutes of training")
    if by_step.lines:
        by_step.legend(fontsize=8)
    figure.savefig(path, dpi=150)


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
