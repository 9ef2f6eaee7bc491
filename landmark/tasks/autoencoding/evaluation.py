"""`landmark evaluate` for autoencoders: the negative ELBO and its terms, with intervals."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.images.montage import write_rows
from landmark.data.images.store import Images
from landmark.metrics.understanding import IntervalScore
from landmark.tasks.autoencoding.options import EvaluateOptions
from landmark.tasks.autoencoding.pipeline import AutoencodingPipeline, Bound
from landmark.tasks.card import Report, Result

_LABELS = {
    "loss": "negative ELBO",
    "reconstruction": "reconstruction",
    "divergence": "KL divergence",
}


def check(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")


@dataclass(frozen=True, eq=False)
class SetBound(Result):
    """How well an autoencoder models one set of images."""

    name: str
    run: str
    checkpoint: str
    result: Bound

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "images": self.result.images,
            "scores": [dataclasses.asdict(score) for score in self.result.scores],
        }

    def lines(self) -> list[str]:
        """In nats an image, with intervals of 95 %."""
        lines = [f"{self.name}: {self.result.images:,} images, in nats an image"]
        return lines + [f"  {_LABELS[s.name]:<16}{_said(s)}" for s in self.result.scores]


def _said(score: IntervalScore) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.3f}"
    return f"{score.value:.3f} ({score.low:.3f} – {score.high:.3f})"


def evaluate(
    pipeline: AutoencodingPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[SetBound]:
    """The bound of every image of each set."""
    sets = _open_sets(pipeline, options, report)
    total, done = sum(map(len, sets.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "images"})

    for name, images in sets.items():
        result = pipeline.evaluate(
            images,
            strict=options.strict,
            resamples=options.bootstrap,
            report=advance,
            note=report,
        )
        yield SetBound(name, str(pipeline.run.folder), pipeline.checkpoint.name, result)


def _open_sets(
    pipeline: AutoencodingPipeline, options: EvaluateOptions, report: Report
) -> dict[str, Images]:
    """What to score, by name: folders, or splits of the run's own data."""
    if options.file:
        return {str(path): pipeline.read_folder(path) for path in options.file}
    names = list(options.split) or pipeline.splits
    if not options.split and names == ["valid"]:
        text = "note: the run has no test split: these are scores on its validation split"
        report({"kind": "note", "text": text})
    return {name: pipeline.split(name, strict=options.strict, note=report) for name in names}


def write_reconstructions(
    pipeline: AutoencodingPipeline,
    records: Sequence[SetBound],
    options: EvaluateOptions,
    path: Path,
) -> None:
    """The first images of the first set, and below each its reconstruction."""
    pairs = records[0].result.shown
    write_rows(path, [[given for given, _ in pairs], [made for _, made in pairs]])
