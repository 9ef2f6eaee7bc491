"""`landmark evaluate` for runs that understand."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from landmark.cli.tally import Tally
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.data.understanding.example import Example
    from landmark.metrics.understanding import Score
    from landmark.tasks.understanding.pipeline import Evaluation, UnderstandingPipeline


def evaluate_understanding(
    run: Path,
    splits: Sequence[str] | None,
    files: Sequence[Path] | None,
    resamples: int,
    as_json: bool,
    checkpoint: str | None,
    device: str,
) -> None:
    """Score a run on examples it has never seen."""
    from landmark.tasks.loading import load

    if splits and files:
        raise UserError("give --split or --file, not both")
    pipeline = load(run, checkpoint, device, task="understanding")
    sets: dict[str, Sequence[Example]]
    if files:
        sets = {str(path): pipeline.read_file(path) for path in files}
    else:
        sets = _own_sets(pipeline, splits)
    with Tally("read", sum(map(len, sets.values()))) as tally:
        results = [
            pipeline.evaluate(name, examples, resamples, tally.advance)
            for name, examples in sets.items()
        ]
    if as_json:
        record = {"run": str(run), "checkpoint": pipeline.checkpoint.name}
        print(json.dumps({**record, "sets": [dataclasses.asdict(result) for result in results]}))
    else:
        print_table(results)


def _own_sets(
    pipeline: "UnderstandingPipeline", splits: Sequence[str] | None
) -> "dict[str, Sequence[Example]]":
    """The splits that are named, or all that can be had of those that are usual for the run."""
    from landmark.data.understanding.public import GLUE_DEV

    if splits:
        return {name: pipeline.split(name) for name in splits}
    missing = ""
    sets: dict[str, Sequence[Example]] = {}
    for name in pipeline.splits:
        try:
            sets[name] = pipeline.split(name)
        except UserError as error:
            if name != GLUE_DEV:
                raise
            missing = str(error)
    if pipeline.config.data.corpus == "sst2" and GLUE_DEV not in sets:
        reason = missing or "the folder that LANDMARK_DATA names has no glue-sst2"
        text = f"note: not scored on GLUE's development set (--split {GLUE_DEV}): {reason}"
        print(text, file=sys.stderr)
    return sets


def print_table(results: "Sequence[Evaluation]") -> None:
    """Scores with their intervals of 95 %, in percent; what leaked, below."""
    names = [score.name for score in results[0].scores]
    width = max(12, *(len(result.name) + 2 for result in results))
    print(f"{'set':<{width}}{'examples':>9}" + "".join(f"{name:>22}" for name in names))
    for result in results:
        values = "".join(f"{_value(score):>22}" for score in result.scores)
        print(f"{result.name:<{width}}{result.examples:>9,}{values}")
    for result in results:
        if result.description:
            print(f"{result.name}: {result.description}")
        if result.leakage is not None:
            print(
                f"{result.name}: {100 * result.leakage:.1f} % of the texts stand inside a text "
                "that was trained on"
            )


def _value(score: "Score") -> str:
    spread = "" if score.low is None else f" ({100 * score.low:.1f} – {100 * score.high:.1f})"  # type: ignore[operator]
    return f"{100 * score.value:.1f}{spread}"
