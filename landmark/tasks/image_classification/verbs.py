"""What `landmark classify`, `similar` and `features` do with a run on images."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.images.files import list_images
from landmark.tasks.card import Failure, Item, NoOptions, Record, Report, Result
from landmark.tasks.image_classification.options import ClassifyOptions, SimilarOptions
from landmark.tasks.image_classification.pipeline import ClassificationPipeline
from landmark.tasks.image_classification.similarity import NearestImage, SimilarImages
from landmark.tasks.image_records import Features

Blocks = Iterable[Sequence[Item]]


def classify(
    pipeline: ClassificationPipeline, blocks: Blocks, options: ClassifyOptions, report: Report
) -> Iterator[Record]:
    """The most probable classes of each image."""
    for block in blocks:
        images = [item.value for item in block]
        found = pipeline.look(images, options.top, ten_crop=options.ten_crop)
        for item, one in zip(block, found, strict=True):
            yield Failure(item, str(one)) if isinstance(one, UserError) else one


@dataclass(frozen=True)
class Similar(Result):
    """An image, and those in a folder that are most similar to it."""

    path: Path
    neighbours: tuple[NearestImage, ...]

    def json(self) -> dict[str, Any]:
        near = [{"image": str(other.path), "distance": other.distance} for other in self.neighbours]
        return {"image": str(self.path), "similar": near}

    def lines(self) -> list[str]:
        rows = [f"{near.distance:9.3f}  {near.path}" for near in self.neighbours]
        return [str(self.path), *rows]


def similar(
    pipeline: ClassificationPipeline, blocks: Blocks, options: SimilarOptions, report: Report
) -> Iterator[Record]:
    """The nearest images of a folder for each image."""
    total, done = len(list_images(options.among)), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress = {"done": done, "total": total, "unit": "images", "what": "read"}
        report({"kind": "progress", **progress})

    folder = SimilarImages(pipeline, options.among, advance)
    for broken in folder.broken:
        report({"kind": "note", "text": f"warning: {broken.reason}: skipped"})
    for block in blocks:
        for item in block:
            try:
                found = folder.nearest(item.value, options.count)
            except UserError as error:
                yield Failure(item, str(error))
            else:
                yield Similar(item.value, tuple(found))


def features(
    pipeline: ClassificationPipeline, blocks: Blocks, options: NoOptions, report: Report
) -> Iterator[Record]:
    """What the last layer reads of each image."""
    for block in blocks:
        for item, found in zip(block, pipeline.try_features([i.value for i in block]), strict=True):
            if isinstance(found, UserError):
                yield Failure(item, str(found))
            else:
                yield Features(item.value, found)
