"""What `landmark fill` does with a masked language model."""

from collections.abc import Iterable, Iterator, Sequence

from landmark.tasks.card import Item, Record, Report, answer
from landmark.tasks.masked_language_model.options import FillOptions
from landmark.tasks.masked_language_model.pipeline import FillingPipeline


def fill(
    pipeline: FillingPipeline,
    blocks: Iterable[Sequence[Item]],
    options: FillOptions,
    report: Report,
) -> Iterator[Record]:
    """The most probable words for the blanks of each text."""
    for block in blocks:
        for item in block:
            yield from answer(
                [[item]],
                lambda items: [
                    pipeline.fill(one.value, options.top_k, place=one.place) for one in items
                ],
            )
