"""What `landmark sample`, `interpolate` and `features` do with a GAN of images."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from landmark.core.errors import UserError
from landmark.core.storage import make_folder, write_file
from landmark.data.images.decoding import Pixels
from landmark.data.images.montage import as_characters, as_png
from landmark.tasks.card import Failure, Item, NoOptions, Record, Report, Result
from landmark.tasks.image_generation.options import InterpolateOptions, SampleOptions
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline
from landmark.tasks.image_records import Features, MadeImage

Blocks = Iterable[Sequence[Item]]


def sample(
    pipeline: ImageGenerationPipeline, blocks: Blocks, options: SampleOptions, report: Report
) -> Iterator[MadeImage]:
    """Images of noise."""
    noise = pipeline.draw(options.count, options.seed)
    done = 0
    for block in np.array_split(noise, -(-len(noise) // 100)):
        for pixels in pipeline.generate(block):
            done += 1
            yield MadeImage(done, pixels)


def write_folder(
    pipeline: ImageGenerationPipeline,
    records: Sequence[MadeImage],
    options: SampleOptions,
    path: Path,
) -> None:
    """Each sample as a file of its own; files of the same names are replaced."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path}: is a file: name a folder")
    make_folder(path)
    digits = len(str(len(records)))
    for record in records:
        write_file(path / f"sample-{record.number:0{digits}d}.png", as_png(record.pixels))


@dataclass(frozen=True, eq=False)
class Between(Result):
    """The images along one way."""

    number: int
    images: tuple[Pixels, ...]

    def json(self) -> dict[str, Any]:
        return {"way": self.number, "images": [image.tolist() for image in self.images]}

    def lines(self) -> list[str]:
        return [line for image in self.images for line in (*as_characters(image), "")]


def interpolate(
    pipeline: ImageGenerationPipeline, blocks: Blocks, options: InterpolateOptions, report: Report
) -> Iterator[Between]:
    """Images along ways from sample to sample."""
    rows = pipeline.interpolate(options.ways, options.steps, options.seed, options.mode)
    for number, images in enumerate(rows, 1):
        yield Between(number, tuple(images))


def features(
    pipeline: ImageGenerationPipeline, blocks: Blocks, options: NoOptions, report: Report
) -> Iterator[Record]:
    """What the discriminator makes of each image."""
    for block in blocks:
        for item in block:
            try:
                (vector,) = pipeline.features([item.value])
            except UserError as error:
                yield Failure(item, str(error))
            else:
                yield Features(item.value, vector)
