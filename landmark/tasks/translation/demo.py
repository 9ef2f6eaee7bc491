"""`landmark demo`, which `make run` calls: train, score, translate, look inside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.engine.run import RECIPE, Run
from landmark.tasks.card import FilesWritten, Record, Report, Result, resolve
from landmark.tasks.loading import load
from landmark.tasks.training import identity, train
from landmark.tasks.training import resolve as resolve_recipe
from landmark.tasks.translation.options import DemoOptions, EvaluateOptions
from landmark.tasks.translation.pipeline import TranslationPipeline
from landmark.tasks.translation.report import evaluate

SENTENCES = (
    "I ate an apple.",
    "The old woman reads a good book in the garden.",
    "Yesterday the children did not see the dog.",
    "The teacher is happy because the student has a new house.",
    "Can the man drink the cold water?",
)
SPLITS = ("test", "test-compositional", "test-structural")
_PICTURES = "landmark.figures.translation.products"


@dataclass(frozen=True)
class Passage(Result):
    """Text between what the demo shows."""

    text: Sequence[str]

    def json(self) -> dict[str, Any]:
        return {"text": "\n".join(self.text)}

    def lines(self) -> list[str]:
        return list(self.text)


def demo(options: DemoOptions, report: Report) -> Iterator[Record]:
    """Train the first translator, score it, translate with it and show its attention."""
    run = options.run
    yield from _train_if_needed(options, report)
    pipeline = load(run, kind=TranslationPipeline, report=report)
    yield Passage(["", "Scores on generated sentences that were not in the training data:"])
    yield from evaluate(pipeline, (), EvaluateOptions(split=SPLITS, bootstrap=0), report)
    found = [
        line
        for result in pipeline.translate(SENTENCES)
        for line in (f"  {result.source}", f"    {result.text}")
    ]
    yield Passage(["", "Translations:", *found])
    attention, picture = pipeline.attention(SENTENCES[0]), run / "attention.png"
    resolve(f"{_PICTURES}:draw_attention")(attention, picture)
    table = resolve(f"{_PICTURES}:attention_table")
    rows = table(attention.source, attention.target, attention.weights[-1].mean(0))
    what = "Where each German piece looks in the English (last layer, mean of heads, in percent):"
    yield Passage(["", what, *rows])
    yield Passage(["", f"The same as a picture: {picture}", "", "Next, type:", *_commands(run)])


def _commands(run: Path) -> list[str]:
    landmark = "  .venv/bin/landmark"
    return [
        f'{landmark} translate {run} "The girl bought a red car."',
        f"{landmark} evaluate {run} --split test-compositional",
        f"{landmark} train translation --source my.en --target my.de   # your own data",
        f"{landmark} list",
    ]


def _train_if_needed(options: DemoOptions, report: Report) -> Iterator[Record]:
    """Use the run if it is of this very recipe and data; go on with it if it is unfinished."""
    run, recipe, overrides = options.run, options.recipe, options.overrides
    config, resume = resolve_recipe(recipe, overrides), None
    if (run / RECIPE).is_file():
        existing = Run.open(run)
        try:
            found = existing.read_recipe().get("identity")
        except UserError:  # damaged, or of an earlier version
            found = None
        if found != identity(config):
            aside = _free_name(run)
            run.rename(aside)
            what = "was of another recipe or data" if found else "cannot be used any more"
            report({"kind": "note", "text": f"{run} {what}: moved to {aside}"})
        elif existing.finished():
            text = f"{run} is trained already (same recipe, same data)"
            report({"kind": "note", "text": text})
            return
        else:
            resume = "auto"
    report({"kind": "training", "max_steps": config.trainer.max_steps})
    yield FilesWritten(train(recipe, run, overrides, resume=resume, report=report).folder)


def _free_name(run: Path) -> Path:
    number = 1
    while (aside := run.with_name(f"{run.name}-old-{number}")).exists():
        number += 1
    return aside
