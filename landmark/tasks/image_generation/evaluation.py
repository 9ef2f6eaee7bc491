"""`landmark evaluate` for GANs of images: samples between real images and noise."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.core.errors import UserError
from landmark.data.images.store import Images
from landmark.tasks.card import Report, Result
from landmark.tasks.image_generation.judge import SetScores
from landmark.tasks.image_generation.likelihood import ParzenComparison, compare_likelihoods
from landmark.tasks.image_generation.options import EvaluateOptions
from landmark.tasks.image_generation.pipeline import Comparison, ImageGenerationPipeline

_FEW = 2000
"""Images of a set, below which FID is biased by more than it says."""
_COLUMNS = ("KID x 1000", "FID", "MiFID", "precision", "recall", "density", "coverage", "variety")


def check(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")


@dataclass(frozen=True)
class SampleScores(Result):
    """How near samples are to one set of real images."""

    name: str
    run: str
    checkpoint: str
    result: Comparison

    def json(self) -> dict[str, Any]:
        found = dataclasses.asdict(self.result)
        return {"name": self.name, "run": self.run, "checkpoint": self.checkpoint, **found}

    def lines(self) -> list[str]:
        """A row each for samples, real images and noise."""
        found = self.result
        lines = [
            f"{self.name}: {found.samples.images:,} samples and {found.reference:,} real images, "
            f"by {found.judge}",
            " " * 14 + "".join(f"{name:>12}" for name in _COLUMNS),
        ]
        for name in ("samples", "floor", "noise"):
            said = {"floor": "other real"}.get(name, name)
            lines.append(f"  {said:<12}" + _row(getattr(found, name)))
        if min(found.reference, found.samples.images) < _FEW:
            lines.append("  (so few images: go by KID; FID is biased)")
        return lines


def _row(scores: SetScores) -> str:
    numbers = (1000 * scores.kid, scores.fid, scores.mifid)
    shares = (scores.precision, scores.recall, scores.density, scores.coverage, scores.variety)
    return "".join(f"{number:12.3f}" for number in numbers + shares)


@dataclass(frozen=True)
class LikelihoodScores(Result):
    """Parzen-window likelihoods, of samples and of what the measure is misled by."""

    run: str
    checkpoint: str
    result: ParzenComparison

    def json(self) -> dict[str, Any]:
        found = dataclasses.asdict(self.result)
        return {"name": "parzen", "run": self.run, "checkpoint": self.checkpoint, **found}

    def lines(self) -> list[str]:
        lines = ["Parzen-window log-likelihood of test images, in nats"]
        for name in ("samples", "real", "centres"):
            score = getattr(self.result, name)
            said = {"real": "training images", "centres": "k-means centres"}.get(name, name)
            lines.append(
                f"  {said:<16}{score.mean:9.1f} ± {score.error:.1f}  width {score.width:.3f}"
            )
        return lines


def evaluate(
    pipeline: ImageGenerationPipeline,
    blocks: Iterable[Any],
    options: EvaluateOptions,
    report: Report,
) -> Iterator[Result]:
    """Compare samples with each set of real images."""
    train, sets = pipeline.split("train", note=report), _open_sets(pipeline, options, report)
    done, total = 0, sum(2 * min(len(s), options.count) for s in sets.values())
    total += len(sets) * (options.count + min(len(train), options.count))

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": max(total, done), "unit": "images"})

    for name, images in sets.items():
        others = pipeline.split("valid", note=report) if name == "train" else train
        result = pipeline.evaluate(
            images,
            others,
            count=options.count,
            seed=options.seed,
            judge=options.judge,
            report=advance,
        )
        yield SampleScores(name, str(pipeline.run.folder), pipeline.checkpoint.name, result)
        if options.parzen:
            found = compare_likelihoods(pipeline, images, train, options.count, options.seed)
            yield LikelihoodScores(str(pipeline.run.folder), pipeline.checkpoint.name, found)


def _open_sets(
    pipeline: ImageGenerationPipeline, options: EvaluateOptions, report: Report
) -> dict[str, Images]:
    """What to compare with, by name: folders, or splits of the run's own data."""
    if options.file:
        return {str(path): pipeline.read_folder(path) for path in options.file}
    names = list(options.split) or (["test"] if "test" in pipeline.splits else ["valid"])
    return {name: pipeline.split(name, note=report) for name in names}
