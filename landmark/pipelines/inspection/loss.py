"""Losses of a training from its log, each with the step, tokens and minutes that it was at."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

Records = Sequence[Mapping[str, Any]]


def loss_points(
    records: Records, kind: Literal["train", "valid"]
) -> dict[str, list[dict[str, float]]]:
    """Losses by name, each with its step and, if the log tells, its tokens and minutes."""
    places = {by: _places(records, by) for by in ("tokens", "minutes")}
    curves: dict[str, list[dict[str, float]]] = {}
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
    totals = np.cumsum([record["weight"] for record in counted]).tolist()
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
