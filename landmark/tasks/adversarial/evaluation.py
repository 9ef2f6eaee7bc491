"""`landmark evaluate` for GANs on points: samples beside the distribution that they imitate."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.metrics.understanding import IntervalScore
from landmark.tasks.adversarial.options import EvaluateOptions
from landmark.tasks.adversarial.pipeline import AdversarialPipeline, SampleComparison
from landmark.tasks.card import Report, Result


@dataclass(frozen=True)
class SampleScores(Result):
    """How near a GAN's samples are to its data."""

    run: str
    checkpoint: str
    result: SampleComparison

    def json(self) -> dict[str, Any]:
        found = self.result
        return {
            "name": "samples",
            "run": self.run,
            "checkpoint": self.checkpoint,
            "samples": found.samples,
            "data": {"mean": found.data_mean, "std": found.data_std},
            "scores": [dataclasses.asdict(score) for score in found.scores],
            "divergence": found.divergence,
            "divergence_floor": found.divergence_floor,
            "divergence_bound": found.divergence_bound,
        }

    def lines(self) -> list[str]:
        """With intervals of 95 %."""
        found = self.result
        mean, std = (_said(score, 3) for score in found.scores[:2])
        on_made, on_real = (_said(score, 4) for score in found.scores[2:])
        bound = max(0.0, found.divergence_bound)
        return [
            f"{found.samples:,} samples",
            f"  mean                {mean}; data {found.data_mean:g}",
            f"  standard deviation  {std}; data {found.data_std:g}",
            f"  Jensen-Shannon      {found.divergence:.4f} nats by histogram (samples of the data: "
            f"{found.divergence_floor:.4f}), at least {bound:.4f} by the "
            "discriminator",
            f"  |D - 1/2|           {on_made} on samples, {on_real} on data",
        ]


def _said(score: IntervalScore, digits: int) -> str:
    said = f"{score.value:.{digits}f}"
    if score.low is None or score.high is None:
        return said
    return f"{said} ({score.low:.{digits}f} – {score.high:.{digits}f})"


def evaluate(
    pipeline: AdversarialPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[SampleScores]:
    """Compare samples with the distribution that the run was trained on."""
    result = pipeline.evaluate(options.count, options.seed, options.bootstrap)
    yield SampleScores(str(pipeline.run.folder), pipeline.checkpoint.name, result)
