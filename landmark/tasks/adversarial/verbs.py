"""What `landmark sample` does with a GAN."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.tasks.adversarial.options import SampleOptions
from landmark.tasks.adversarial.pipeline import AdversarialPipeline
from landmark.tasks.card import Report, Result


@dataclass(frozen=True)
class PointSample(Result):
    """A point that was drawn."""

    number: int
    value: tuple[float, ...]

    def json(self) -> dict[str, Any]:
        return {"sample": self.number, "value": list(self.value)}

    def lines(self) -> list[str]:
        return [" ".join(f"{number:.6g}" for number in self.value)]


def sample(
    pipeline: AdversarialPipeline, blocks: Iterable[Any], options: SampleOptions, report: Report
) -> Iterator[PointSample]:
    """Points that the generator makes of noise."""
    for number, value in enumerate(pipeline.sample(options.count, options.seed).tolist(), 1):
        yield PointSample(number, tuple(value))
