"""`landmark evaluate` for runs that name what is in an image."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.cli.progress import Downloads
from landmark.cli.tally import Tally
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.data.images.store import Images
    from landmark.metrics.classification import ClassificationScores
    from landmark.metrics.understanding import Score
    from landmark.pipelines.image.classification import ClassificationPipeline

_MOST_ROWS = 40  # classes in the table; of more, the worst


def evaluate_images(
    run: Path,
    splits: Sequence[str] | None,
    files: Sequence[Path] | None,
    ten_crop: bool,
    strict: bool,
    confusion: Path | None,
    engine: str,
    as_json: bool,
    checkpoint: str | None,
    device: str,
) -> None:
    """Score a run on images it has never seen."""
    from landmark.pipelines.loading import load

    if splits and files:
        raise UserError("give --split or --file, not both")
    if confusion:
        from landmark.plots.figure import check_figure

        check_figure(confusion)
    pipeline = load(run, checkpoint, device, engine=engine, task="image-classification")
    sets = _open_sets(pipeline, splits, files, strict)
    with Tally("looked at", sum(map(len, sets.values())), unit="images") as tally:
        note = Downloads(tally.console).report
        results = {
            name: pipeline.evaluate(
                images, ten_crop=ten_crop, strict=strict, report=tally.advance, note=note
            )
            for name, images in sets.items()
        }
    if as_json:
        facts = {"run": str(run), "checkpoint": pipeline.checkpoint.name, "ten_crop": ten_crop}
        print(json.dumps({**facts, "sets": [_record(n, r) for n, r in results.items()]}))
    else:
        for name, result in results.items():
            print_scores(name, result)
    if confusion:
        from landmark.plots.image.confusion import save_confusion

        name, result = next(iter(results.items()))
        save_confusion(result.confusion, pipeline.form.names, f"{run.name}: {name}", confusion)
        if not as_json:
            print(confusion)


def _open_sets(
    pipeline: "ClassificationPipeline",
    splits: Sequence[str] | None,
    files: Sequence[Path] | None,
    strict: bool,
) -> "dict[str, Images]":
    """What to score, by name: folders, or splits of the run's own data."""
    note = Downloads().report
    if files:
        return {str(path): pipeline.read_folder(path, strict=strict, note=note) for path in files}
    names = splits or pipeline.splits
    return {name: pipeline.split(name, strict=strict, note=note) for name in names}


def _record(name: str, result: "ClassificationScores") -> dict[str, Any]:
    return {
        "name": name,
        "images": result.images,
        "scores": [dataclasses.asdict(score) for score in result.scores],
        "classes": [dataclasses.asdict(row) for row in result.classes],
        "confusion": result.confusion.tolist(),
    }


def print_scores(name: str, result: "ClassificationScores") -> None:
    """Top-1 and top-5 with intervals of 95 %, the error, and a table by class, in percent."""
    print(f"{name}: {result.images:,} images")
    for score in result.scores:
        print(f"  {score.name:<7}{_percent(score)}")
    wrong = round(result.images * (1 - result.scores[0].value))
    print(f"  error  {100 * wrong / result.images:.2f} ({wrong:,} images)")
    rows = sorted(result.classes, key=lambda row: row.f1)[:_MOST_ROWS]
    if len(rows) < len(result.classes):
        print(f"the {len(rows)} worst of {len(result.classes)} classes:")
    else:
        rows = list(result.classes)
    width = max(8, *(len(row.name) + 2 for row in rows))
    print(f"{'class':<{width}}{'images':>8}{'precision':>11}{'recall':>9}{'F1':>8}  taken for")
    for row in rows:
        shares = f"{100 * row.precision:>11.1f}{100 * row.recall:>9.1f}{100 * row.f1:>8.1f}"
        print(f"{row.name:<{width}}{row.images:>8,}{shares}  {row.mistaken_for}".rstrip())


def _percent(score: "Score") -> str:
    assert score.low is not None
    assert score.high is not None
    return f"{100 * score.value:.2f} ({100 * score.low:.2f} – {100 * score.high:.2f})"
