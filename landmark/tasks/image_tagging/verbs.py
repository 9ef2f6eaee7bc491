"""What `landmark tag` and `features` do with a run on images with captions."""

from collections.abc import Iterable, Iterator, Sequence

from landmark.core.errors import UserError
from landmark.tasks.card import Failure, Item, NoOptions, Record, Report
from landmark.tasks.image_records import Features
from landmark.tasks.image_tagging.options import TagOptions
from landmark.tasks.image_tagging.pipeline import TaggingPipeline

Blocks = Iterable[Sequence[Item]]


def tag(
    pipeline: TaggingPipeline, blocks: Blocks, options: TagOptions, report: Report
) -> Iterator[Record]:
    """The most probable words of each image."""
    for block in blocks:
        found = pipeline.look([item.value for item in block], options.top)
        for item, one in zip(block, found, strict=True):
            yield Failure(item, str(one)) if isinstance(one, UserError) else one


def features(
    pipeline: TaggingPipeline, blocks: Blocks, options: NoOptions, report: Report
) -> Iterator[Record]:
    """What the last layer reads of each image."""
    for block in blocks:
        found = pipeline.features([item.value for item in block])
        for item, one in zip(block, found, strict=True):
            if isinstance(one, UserError):
                yield Failure(item, str(one))
            else:
                yield Features(item.value, one)
