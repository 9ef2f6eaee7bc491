"""What can be done with a run of the corridor."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from landmark.core.errors import ItemError
from landmark.core.storage import write_file
from landmark.engine.run import Run
from landmark.tasks.card import Item, OpenOptions, Record, Report, Result, answer
from landmark.tasks.exporting import export_folder
from tests.toy.options import EvaluateOptions, PolicyOptions, RulesOptions, WalkOptions
from tests.toy.pipeline import Walker

Blocks = Iterable[Sequence[Item]]


@dataclass(frozen=True)
class Walk(Result):
    """The places of a walk."""

    places: list[float]

    def json(self) -> dict[str, Any]:
        return {"places": self.places}

    def lines(self) -> list[str]:
        return [" ".join(f"{place:.3f}" for place in self.places)]


@dataclass(frozen=True)
class Reward(Result):
    """How games went."""

    reward: float

    def json(self) -> dict[str, Any]:
        return {"reward": self.reward}

    def lines(self) -> list[str]:
        return [f"reward {self.reward:.4f}"]


@dataclass(frozen=True)
class Rule(Result):
    """One rule."""

    text: str

    def json(self) -> dict[str, Any]:
        return {"rule": self.text}

    def lines(self) -> list[str]:
        return [self.text]


def walk(
    pipeline: Walker, blocks: Blocks, options: WalkOptions, report: Report
) -> Iterator[Record]:
    """A walk from each start."""

    def walk_all(block: Sequence[Item]) -> list[Record]:
        return [Walk(pipeline.walk(_number(item), options.length, options.wind)) for item in block]

    return answer(blocks, walk_all)


def _number(item: Item) -> float:
    try:
        return float(item.value or 0)
    except ValueError:
        raise ItemError(f"{item.place}: {item.value!r} is no place") from None


def evaluate(
    pipeline: Walker, blocks: Blocks, options: EvaluateOptions, report: Report
) -> Iterator[Record]:
    """The mean reward of games from places drawn at random."""
    starts = torch.randn(options.games, generator=torch.Generator().manual_seed(1)).tolist()
    walks = [pipeline.walk(start, 10)[1:] for start in starts]
    yield Reward(-sum(place**2 for places in walks for place in places) / 10 / options.games)


def write_paths(
    pipeline: Walker, records: Sequence[Walk], options: WalkOptions, path: Path
) -> None:
    """Walks as CSV."""
    write_file(path, "".join(",".join(map(str, r.places)) + "\n" for r in records).encode())


def rules(options: RulesOptions, report: Report) -> Iterator[Record]:
    """The rules."""
    text = "stay near the middle"
    yield Rule(text.upper() if options.shout else text)


def export_policy(run: Run, config: Any, options: PolicyOptions, report: Report) -> Path:
    """The action at evenly spaced places."""
    walker = Walker(run, config, OpenOptions(checkpoint=options.checkpoint))
    folder = options.output or export_folder(run, "policy")
    folder.mkdir(parents=True, exist_ok=True)
    places = torch.linspace(-1, 1, options.rows).tolist()
    rows = [f"{place},{(walker.walk(place, 1)[1] - place) * 2}" for place in places]
    write_file(folder / "policy.csv", "\n".join(rows).encode())
    return folder
