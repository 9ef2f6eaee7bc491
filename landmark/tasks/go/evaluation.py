"""`landmark evaluate` for networks of Go: how often they foretell the move, and the result."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from landmark.tasks.card import Report, Result
from landmark.tasks.go.options import EvaluateOptions
from landmark.tasks.go.pipeline import GoPipeline

_LINES = (
    ("accuracy", "first move is the one played", 100.0, "%"),
    ("policy_loss", "cross-entropy of the move", 1.0, "nats"),
    ("value_error", "squared error of the result (-1 to 1)", 1.0, ""),
    ("value_loss", "cross-entropy of the result", 1.0, "nats"),
    ("ownership_loss", "squared error of the owners (-1 to 1)", 1.0, ""),
)


@dataclass(frozen=True)
class PositionScores(Result):
    """What was measured on a split."""

    run: str
    checkpoint: str
    split: str
    positions: int
    measured: Mapping[str, float]

    def json(self) -> dict[str, Any]:
        return {
            "name": self.split,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "positions": self.positions,
            **self.measured,
        }

    def lines(self) -> list[str]:
        lines = [f"{self.split}: {self.positions:,} positions"]
        for name, what, factor, unit in _LINES:
            if name in self.measured:
                value = f"{factor * self.measured[name]:.{2 if factor > 1 else 4}f} {unit}"
                lines.append(f"  {what:40} {value.rstrip()}")
        return lines


def evaluate(
    pipeline: GoPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[PositionScores]:
    """Judge the positions of the run's games."""
    for split in options.split or ("test",):
        count, measured = pipeline.measure(split)
        yield PositionScores(
            str(pipeline.run.folder), pipeline.checkpoint.name, split, count, measured
        )
