"""`landmark evaluate` for image classifiers: accuracy with intervals, and a table by class."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.core.errors import UserError
from landmark.data.images.store import Images
from landmark.metrics.classification import ClassificationScores
from landmark.metrics.understanding import IntervalScore
from landmark.tasks.card import Report
from landmark.tasks.image_classification.options import EvaluateOptions
from landmark.tasks.image_classification.pipeline import ClassificationPipeline
from landmark.tasks.image_classification.predictions import Predictions
from landmark.tasks.measuring import NO_TEST_SPLIT

_MOST_ROWS = 40  # classes in the table; of more, the worst


def check(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")


@dataclass(frozen=True)
class SetScores:
    """How well a run classifies one set of images."""

    name: str
    run: str
    checkpoint: str
    ten_crop: bool
    result: ClassificationScores
    predictions: Predictions
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "ten_crop": self.ten_crop,
            "images": self.result.images,
            "scores": [dataclasses.asdict(score) for score in self.result.scores],
            "classes": [dataclasses.asdict(row) for row in self.result.classes],
            "confusion": self.result.confusion.tolist(),
        }

    def lines(self) -> list[str]:
        """Top-1 and top-5 with intervals of 95 %, the error, and a table by class, in percent."""
        result = self.result
        lines = [f"{self.name}: {result.images:,} images"]
        lines += [f"  {score.name:<7}{_percent(score)}" for score in result.scores]
        wrong = round(result.images * (1 - result.scores[0].value))
        lines.append(f"  error  {100 * wrong / result.images:.2f} ({wrong:,} images)")
        return lines + self._class_table()

    def _class_table(self) -> list[str]:
        classes = self.result.classes
        rows, lines = sorted(classes, key=lambda row: row.f1)[:_MOST_ROWS], []
        if len(rows) < len(classes):
            lines.append(f"the {len(rows)} worst of {len(classes)} classes:")
        else:
            rows = list(classes)
        width = max(8, *(len(row.name) + 2 for row in rows))
        lines.append(
            f"{'class':<{width}}{'images':>8}{'precision':>11}{'recall':>9}{'F1':>8}  taken for"
        )
        for row in rows:
            shares = f"{100 * row.precision:>11.1f}{100 * row.recall:>9.1f}{100 * row.f1:>8.1f}"
            said = f"{row.name:<{width}}{row.images:>8,}{shares}  {row.mistaken_for}"
            lines.append(said.rstrip())
        return lines


def evaluate(
    pipeline: ClassificationPipeline,
    blocks: Iterable[Any],
    options: EvaluateOptions,
    report: Report,
) -> Iterator[SetScores]:
    """Classify every image of each set, and score the predictions."""
    sets = _open_sets(pipeline, options, report)
    total, done = sum(map(len, sets.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "images"})

    for name, images in sets.items():
        found = pipeline.predict(
            images, ten_crop=options.ten_crop, strict=options.strict, report=advance, note=report
        )
        folder, checkpoint = str(pipeline.run.folder), pipeline.checkpoint.name
        scores = found.scores(pipeline.form.names)
        is_chosen = options.split or options.file or name == "test"
        warnings = () if is_chosen else (NO_TEST_SPLIT,)
        yield SetScores(name, folder, checkpoint, options.ten_crop, scores, found, warnings)


def _open_sets(
    pipeline: ClassificationPipeline, options: EvaluateOptions, report: Report
) -> dict[str, Images]:
    """What to score, by name: folders, or splits of the run's own data."""
    strict = options.strict
    if options.file:
        return {
            str(path): pipeline.read_folder(path, strict=strict, note=report)
            for path in options.file
        }
    names = options.split or pipeline.splits
    return {name: pipeline.split(name, strict=strict, note=report) for name in names}


def _percent(score: IntervalScore) -> str:
    assert score.low is not None
    assert score.high is not None
    return f"{100 * score.value:.2f} ({100 * score.low:.2f} – {100 * score.high:.2f})"
