"""Results of a race: each trial, each optimizer's best rate, its median and range over seeds.

A training that diverged counts as an infinite loss from there on; in JSON that is null.
"""

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.core.storage import replace_durably
from landmark.racing.trial import Trial

RESULT = "race.json"
RECENT = 0.1
"""The share of a training's updates, its last ones, that its training loss is the mean over."""


@dataclasses.dataclass(frozen=True)
class TrialResult:
    """How one training ended."""

    rate: float
    seed: int
    loss: float
    """Of the last validation; where nothing is validated, the training loss."""
    train_loss: float
    """The mean over the last tenth of the updates."""
    seconds: float
    """Of updates alone: reading data and validating are left out."""
    metrics: dict[str, float]
    """All else that the last validation found."""
    diverged_at: int | None = None
    """The update whose numbers were not finite."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """A loss along the trainings of several seeds."""

    steps: list[int]
    seconds: list[float]
    """The median time that this took."""
    median: list[float]
    low: list[float]
    high: list[float]


@dataclasses.dataclass(frozen=True)
class OptimizerResult:
    """A method: its search for a rate, and its trainings at the one that was found."""

    method: str
    rate: float
    updates: int
    pace: int
    """Evaluations of a loss that an update costs, in those of the other methods."""
    search: list[TrialResult]
    finishes: list[TrialResult]
    """At the chosen rate, a seed each."""
    train: Curve
    valid: Curve | None
    """None where nothing is validated."""

    @property
    def loss(self) -> float:
        """The median over seeds."""
        return float(np.median([finish.loss for finish in self.finishes]))

    @property
    def train_loss(self) -> float:
        return float(np.median([finish.train_loss for finish in self.finishes]))

    @property
    def seconds(self) -> float:
        return float(np.median([finish.seconds for finish in self.finishes]))

    @property
    def band(self) -> tuple[float, float]:
        """The lowest and the highest of the seeds' losses."""
        losses = [finish.loss for finish in self.finishes]
        return min(losses), max(losses)

    @property
    def edge(self) -> str | None:
        """low or high if the best rate is the first or last of several: others may be better."""
        rates = sorted(finish.rate for finish in self.search)
        if len(rates) < 2 or self.rate not in (rates[0], rates[-1]):
            return None
        return "low" if self.rate == rates[0] else "high"

    @property
    def diverged(self) -> int:
        """How many of all its trainings did."""
        trained = {(finish.rate, finish.seed): finish for finish in (*self.search, *self.finishes)}
        return sum(finish.diverged_at is not None for finish in trained.values())

    def line(self, width: int) -> str:
        """A row of the table, whose names are that wide."""
        low, high = self.band
        band = f"{_number(low)} - {_number(high)}"
        trained = len({(f.rate, f.seed) for f in (*self.search, *self.finishes)})
        edge = {"low": "<", "high": ">", None: " "}[self.edge]
        return (
            f"{self.method:<{width}}{self.rate:>8g}{edge}{_number(self.loss):>11}{band:>24}"
            f"{_number(self.train_loss):>11}{self.updates:>9,}{self.seconds:>9.1f}"
            f"  {self.diverged} of {trained}"
        )


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "inf"


@dataclasses.dataclass(frozen=True)
class RaceResult:
    """A race that was held."""

    race: str
    figure: str
    """Which experiment of the paper this is; empty if none."""
    steps: int
    seeds: int
    environment: dict[str, Any]
    standings: list[OptimizerResult]

    def ranked(self) -> list[OptimizerResult]:
        """The best first, by the median loss of validation."""
        return sorted(self.standings, key=lambda standing: standing.loss)

    def json(self) -> dict[str, Any]:
        """Plain values for JSON, medians and bands among them."""
        record = dataclasses.asdict(self)
        for values, standing in zip(record["standings"], self.standings, strict=True):
            values |= {
                "loss": standing.loss,
                "band": list(standing.band),
                "train_loss": standing.train_loss,
                "seconds": standing.seconds,
                "diverged": standing.diverged,
                "edge": standing.edge,
            }
        plain: dict[str, Any] = _finite(record)
        return plain

    def lines(self) -> list[str]:
        """A table, the best first."""
        name = max(len(standing.method) for standing in self.standings) + 2
        columns = f"{'rate':>9}{'loss':>11}{'band':>24}{'training':>11}{'updates':>9}{'seconds':>9}"
        lines = [f"{'method':<{name}}{columns}  diverged"]
        lines += [standing.line(name) for standing in self.ranked()]
        if any(standing.edge for standing in self.standings):
            lines.append(
                "< and >: the smallest or largest rate tried was the best; --rates tries others."
            )
        return lines

    def save(self, path: Path) -> None:
        replace_durably(path, json.dumps(self.json(), indent=1).encode())


def read_result(folder: str | Path) -> RaceResult:
    """The result of a race that has come to its end."""
    path = Path(folder) / RESULT
    if not path.is_file():
        raise UserError(f"{folder}: has no {RESULT}: no finished race")
    try:
        record = json.loads(path.read_text())
        standings = [_standing(values) for values in record.pop("standings")]
        return RaceResult(**record, standings=standings)
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{path}: is damaged: `landmark race --resume` repairs it") from None


def _standing(values: dict[str, Any]) -> OptimizerResult:
    for name in ("train", "valid"):
        curve = values[name]
        if curve:
            for key in ("median", "low", "high"):
                curve[key] = [math.inf if value is None else value for value in curve[key]]
            values[name] = Curve(**curve)
    for name in ("search", "finishes"):
        values[name] = [_finish(finish) for finish in values[name]]
    fields = {field.name for field in dataclasses.fields(OptimizerResult)}
    return OptimizerResult(**{key: value for key, value in values.items() if key in fields})


def _finish(values: dict[str, Any]) -> TrialResult:
    for key in ("loss", "train_loss"):
        values[key] = math.inf if values[key] is None else values[key]
    return TrialResult(**values)


def read_finish(trial: Trial) -> TrialResult:
    """How a finished trial ended, from its log."""
    records = trial.records()
    trained = [record for record in records if record["kind"] == "train"]
    validated = [record for record in records if record["kind"] == "valid"]
    end = records[-1]
    is_diverged = end["kind"] == "diverged"
    train_loss = math.inf if is_diverged or not trained else _recent_loss(trained, trial)
    last = validated[-1] if validated else {"loss": train_loss}
    metrics = {k: v for k, v in last.items() if isinstance(v, float) and k != "loss"}
    return TrialResult(
        trial.rate,
        trial.seed,
        math.inf if is_diverged else _loss(last, trial),
        train_loss,
        end["seconds"],
        {} if is_diverged else metrics,
        end["step"] if is_diverged else None,
    )


def _updates(trained: Sequence[Mapping[str, Any]]) -> list[int]:
    """How many updates each record of a training is the mean over."""
    steps = [0, *(record["step"] for record in trained)]
    return [after - before for before, after in itertools.pairwise(steps)]


def _recent_loss(trained: Sequence[Mapping[str, Any]], trial: Trial) -> float:
    """The mean over the last tenth of the updates, in whole records."""
    total, count = 0.0, 0
    for record, updates in reversed(list(zip(trained, _updates(trained), strict=True))):
        total, count = total + updates * _loss(record, trial), count + updates
        if count >= RECENT * trained[-1]["step"]:
            break
    return total / count


def read_curve(trials: Sequence[Trial], kind: str) -> Curve | None:
    """Median and band of a loss over trials that differ in nothing but their seed."""
    points = [_points(trial, kind) for trial in trials]
    steps = sorted(set().union(*(losses for losses, _ in points)))
    if not steps:
        return None
    losses = np.array([[own.get(step, math.inf) for step in steps] for own, _ in points])
    seconds = np.median([np.interp(steps, *timed) for _, timed in points], axis=0)
    with np.errstate(invalid="ignore"):  # the mean of two infinities
        median = np.nan_to_num(np.median(losses, axis=0), nan=math.inf, posinf=math.inf)
    return Curve(
        steps, seconds.tolist(), median.tolist(), losses.min(0).tolist(), losses.max(0).tolist()
    )


def _points(
    trial: Trial, kind: str
) -> tuple[dict[int, float], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Losses by step; and steps with the seconds that they were reached at."""
    records = trial.records()
    shown = [record for record in records if record["kind"] == kind]
    if kind == "train" and len(shown) > 1 and _updates(shown)[-1] < _updates(shown)[0]:
        shown.pop()  # what was left over at the end is too few updates for a point
    losses = {record["step"]: _loss(record, trial) for record in shown}
    timed = [(0.0, 0.0), *((r["step"], r["seconds"]) for r in records if "seconds" in r)]
    steps, seconds = np.array(timed, dtype=np.float64).T
    return losses, (steps, seconds)


def _loss(record: Mapping[str, Any], trial: Trial) -> float:
    """The plain loss where it is logged, which compares with validation's."""
    loss = record.get("nll", record.get("loss"))
    if loss is None:
        raise UserError(f"{trial.name}: logs no loss of its own to compare")
    return float(loss) if math.isfinite(loss) else math.inf


def _finite(values: Any) -> Any:
    """The same with null for what is not finite, which JSON cannot hold."""
    if isinstance(values, dict):
        return {key: _finite(value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_finite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values
