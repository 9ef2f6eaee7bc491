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
            "divergence": found.points.divergence,
            "divergence_floor": found.points.divergence_floor,
            "divergence_bound": found.divergence_bound,
            **dataclasses.asdict(found.points.coverage),
        }

    def lines(self) -> list[str]:
        """With intervals of 95 %."""
        found, points, coverage = self.result, self.result.points, self.result.points.coverage
        scores = {score.name: score for score in found.scores}
        lines = [f"{found.samples:,} samples"]
        if "mean" in scores:
            mean, std = _said(scores["mean"], 3), _said(scores["std"], 3)
            lines += [
                f"  mean                {mean}; data {found.data_mean:g}",
                f"  standard deviation  {std}; data {found.data_std:.4g}",
            ]
        if coverage.modes > 1:
            lines += [
                f"  modes               {coverage.covered} of {coverage.modes} covered",
                f"  good samples        {100 * coverage.good:.1f} % within 3 standard deviations "
                "of a mode",
                f"  reverse KL          {coverage.reverse_kl:.4f} nats, of the modes of good "
                "samples from equal shares",
            ]
        bound = f"at least {max(0.0, found.divergence_bound):.4f} by the discriminator"
        if points.divergence is None:
            lines.append(f"  Jensen-Shannon      {bound}")
        elif points.divergence_floor:
            lines.append(
                f"  Jensen-Shannon      {points.divergence:.4f} nats by histogram (samples of the "
                f"data: {points.divergence_floor:.4f}), {bound}"
            )
        else:
            lines.append(
                f"  Jensen-Shannon      {points.divergence:.6f} nats between the densities, {bound}"
            )
        on_made, on_real = (
            _said(scores[name], 4) for name in ("distance_from_half", "distance_from_half_on_data")
        )
        return [*lines, f"  |D - 1/2|           {on_made} on samples, {on_real} on data"]


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
