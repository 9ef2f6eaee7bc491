"""`landmark evaluate` for GANs on points: samples beside the distribution that they imitate."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.metrics.understanding import Score
from landmark.tasks.adversarial.options import EvaluateOptions
from landmark.tasks.adversarial.pipeline import AdversarialPipeline, Comparison
from landmark.tasks.card import Report, Result


@dataclass(frozen=True)
class SampleScores(Result):
    """How near a GAN's samples are to its data."""

    run: str
    checkpoint: str
    result: Comparison

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
        mean, std, on_made, on_real = map(_said, found.scores)
        return [
            f"{found.samples:,} samples",
            f"  mean                {mean}; data {found.data_mean:g}",
            f"  standard deviation  {std}; data {found.data_std:g}",
            f"  Jensen-Shannon      {found.divergence:.4f} nats by histogram (samples of the data: "
            f"{found.divergence_floor:.4f}), at least {found.divergence_bound:.4f} by the "
            "discriminator",
            f"  |D - 1/2|           {on_made} on samples, {on_real} on data",
        ]


def _said(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.3f}"
    return f"{score.value:.3f} ({score.low:.3f} – {score.high:.3f})"


def evaluate(
    pipeline: AdversarialPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[SampleScores]:
    """Compare samples with the distribution that the run was trained on."""
    result = pipeline.evaluate(options.count, options.seed, options.bootstrap)
    yield SampleScores(str(pipeline.run.folder), pipeline.checkpoint.name, result)
