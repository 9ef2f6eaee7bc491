"""What the benchmarks of fine-tuning share: trainings that go on where they stopped, as results.

A result is a small JSON file beside the run: what is finished is read, not trained again.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import landmark
from landmark.core.errors import UserError
from landmark.engine.run import Run, training_minutes
from landmark.tasks.training import train


def pretrained(given: Path | None, recipe: str, folder: Path, settings: Sequence[str]) -> Path:
    """The run that was named, or one of the recipe in `folder`, trained if it is not there yet."""
    run = Run.open(given) if given else Run(folder)
    if not given and not run.finished():
        say(f"pretraining {folder.name}: {recipe} {' '.join(settings)}")
        train(recipe, run.folder, settings, resume=_begun(run.folder), report=_report)
    return run.folder


def measured(
    folder: Path, recipe: str, settings: Sequence[str], splits: Sequence[str]
) -> dict[str, Any]:
    """Fine-tune into `folder` and score on splits; read from its result if that is there."""
    path = folder.with_suffix(".json")
    wanted = {"recipe": recipe, "settings": list(settings), "splits": list(splits)}
    if path.is_file():
        result: dict[str, Any] = json.loads(path.read_text())
        if {key: result[key] for key in wanted} == wanted:
            return result
        raise UserError(f"{path}: is of other settings: delete it, or name another --output")
    say(f"{folder.name}: {recipe} {' '.join(settings)}")
    run = train(recipe, folder, settings, resume=_begun(folder), report=_report)
    pipeline = landmark.load(folder)
    parameters = sum(parameter.numel() for parameter in pipeline.model.parameters())
    sets = {name: pipeline.evaluate(name, pipeline.split(name)) for name in splits}
    result = {
        **wanted,
        "parameters": parameters,
        "step": int(pipeline.checkpoint.name.rpartition("-")[2]),
        "minutes": training_minutes(run.read_log()),
        "sets": {
            name: {
                "examples": found.examples,
                "leakage": found.leakage,
                **{score.name: [score.value, score.low, score.high] for score in found.scores},
            }
            for name, found in sets.items()
        },
    }
    path.write_text(json.dumps(result, indent=1))
    return result


def shown(result: Mapping[str, Any], split: str, metric: str) -> str:
    """A score in percent, and its interval."""
    value, low, high = (100 * number for number in result["sets"][split][metric])
    return f"{value:.1f} ({low:.1f} – {high:.1f})"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _begun(folder: Path) -> str | None:
    """Go on with a training that is there."""
    return "auto" if folder.is_dir() else None


def _report(record: Mapping[str, Any]) -> None:
    if record["kind"] == "valid":
        numbers = ", ".join(f"{k} {v:.4f}" for k, v in record.items() if isinstance(v, float))
        say(f"  step {record['step']}: {numbers}")
    elif record["kind"] in ("note", "data"):
        say(f"  {record.get('text', {k: v for k, v in record.items() if k != 'kind'})}")
