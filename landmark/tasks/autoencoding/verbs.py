"""What `landmark sample` and `reconstruct` do with an autoencoder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.data.images.decoding import Pixels
from landmark.data.images.montage import as_characters, write_rows
from landmark.tasks.autoencoding.options import SampleOptions
from landmark.tasks.autoencoding.pipeline import AutoencodingPipeline
from landmark.tasks.card import Item, NoOptions, Record, Report, Result, answer
from landmark.tasks.image_records import MadeImage

Blocks = Iterable[Sequence[Item]]


def sample(
    pipeline: AutoencodingPipeline, blocks: Blocks, options: SampleOptions, report: Report
) -> Iterator[MadeImage]:
    """Images of codes drawn from the prior."""
    for number, pixels in enumerate(pipeline.sample(options.count, options.seed), 1):
        yield MadeImage(number, pixels)


@dataclass(frozen=True, eq=False)
class Reconstruction(Result):
    """An image, and what the autoencoder makes of its code."""

    image: str
    given: Pixels
    made: Pixels

    @property
    def error(self) -> float:
        """The mean squared difference of their values between 0 and 1."""
        return float((((self.given / 255.0) - self.made / 255.0) ** 2).mean())

    def json(self) -> dict[str, Any]:
        return {"image": self.image, "error": self.error, "pixels": self.made.tolist()}

    def lines(self) -> list[str]:
        return [f"{self.image}  mean squared error {self.error:.4f}", *as_characters(self.made), ""]


def reconstruct(
    pipeline: AutoencodingPipeline, blocks: Blocks, options: NoOptions, report: Report
) -> Iterator[Record]:
    """Each image encoded and decoded again."""

    def answer_all(items: Sequence[Item]) -> Sequence[Record]:
        pairs = pipeline.compare([item.value for item in items])
        return [Reconstruction(str(i.value), *pair) for i, pair in zip(items, pairs, strict=True)]

    return answer(blocks, answer_all)


def write_reconstructed(
    pipeline: AutoencodingPipeline,
    records: Sequence[Reconstruction],
    options: NoOptions,
    path: Path,
) -> None:
    """Ten images a row, and below each what was made of it."""
    rows = []
    for start in range(0, len(records), 10):
        chosen = records[start : start + 10]
        rows += [[one.given for one in chosen], [one.made for one in chosen]]
    write_rows(path, rows)
