"""`landmark demo`, which `make run` calls: train, score, translate, look inside."""

import sys
from pathlib import Path
from typing import Annotated

import typer

SENTENCES = (
    "I ate an apple.",
    "The old woman reads a good book in the garden.",
    "Yesterday the children did not see the dog.",
    "The teacher is happy because the student has a new house.",
    "Can the man drink the cold water?",
)
SPLITS = ("test", "test-compositional", "test-structural")


def demo(
    run: Annotated[Path, typer.Option(help="Where to train.")] = Path("runs/first"),
    recipe: Annotated[str, typer.Option(help="What to train.")] = "transformer-embedded",
    overrides: Annotated[list[str] | None, typer.Argument(help="Settings to change.")] = None,
) -> int:
    """Train the first translator, score it, translate with it and show its attention."""
    code = _train_if_needed(recipe, run, overrides or [])
    if code:
        return code
    from rich.console import Console

    from landmark.cli.translation.report import print_evaluations
    from landmark.cli.translation.translation import draw_attention
    from landmark.figures.translation.heatmap import terminal_heatmap
    from landmark.tasks.loading import load
    from landmark.tasks.translation.evaluation import evaluate, split_pairs

    pipeline = load(run, task="translation")
    print("\nScores on generated sentences that were not in the training data:")
    print_evaluations([evaluate(pipeline, s, split_pairs(pipeline, s)) for s in SPLITS])
    print("\nTranslations:")
    for result in pipeline.translate(SENTENCES):
        print(f"  {result.source}\n    {result.text}")
    attention = pipeline.attention(SENTENCES[0])
    print("\nWhere each German piece looks in the English (last layer, mean of heads, in percent):")
    Console().print(
        terminal_heatmap(attention.source, attention.target, attention.weights[-1].mean(0))
    )
    picture = run / "attention.png"
    draw_attention(attention, picture)
    print(f"\nThe same as a picture: {picture}\n\nNext, type:")
    print(f'  .venv/bin/landmark translate {run} "The girl bought a red car."')
    print(f"  .venv/bin/landmark evaluate {run} --split test-compositional")
    print("  .venv/bin/landmark train translation --source my.en --target my.de   # your own data")
    print("  .venv/bin/landmark list")
    return 0


def _train_if_needed(recipe: str, run: Path, overrides: list[str]) -> int:
    """Use the run if it is of this very recipe and data; go on with it if it is unfinished."""
    from landmark.cli.training import run_training
    from landmark.core.errors import UserError
    from landmark.engine.run import RECIPE, Run
    from landmark.tasks.training import identity, resolve

    resume = None
    if (run / RECIPE).is_file():
        existing = Run.open(run)
        try:
            found = existing.read_recipe().get("identity")
        except UserError:  # damaged, or of an earlier version
            found = None
        if found != identity(resolve(recipe, overrides)):
            aside = _free_name(run)
            run.rename(aside)
            what = "was of another recipe or data" if found else "cannot be used any more"
            print(f"{run} {what}: moved to {aside}", file=sys.stderr)
        elif existing.finished():
            print(f"{run} is trained already (same recipe, same data)", file=sys.stderr)
            return 0
        else:
            resume = "auto"
    return run_training(recipe, run, overrides, resume)


def _free_name(run: Path) -> Path:
    number = 1
    while (aside := run.with_name(f"{run.name}-old-{number}")).exists():
        number += 1
    return aside
