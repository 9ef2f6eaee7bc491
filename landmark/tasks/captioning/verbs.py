"""What `landmark caption` does with a captioner."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import replace_durably
from landmark.data.images.decoding import Pixels
from landmark.tasks.captioning.options import CaptionOptions
from landmark.tasks.captioning.pipeline import Caption, CaptioningPipeline
from landmark.tasks.captioning.run import CaptioningRun
from landmark.tasks.card import Failure, Item, Record, Report
from landmark.tasks.searching import beam_of

Blocks = Iterable[Sequence[Item]]


def check_caption(config: CaptioningRun, options: CaptionOptions, has_input: bool) -> None:
    """Refuse what does not go with the run."""
    beam_of(config.search.beam, options)
    longest = config.model.max_length - 2
    if options.min_length > longest:
        raise UserError(f"--min-length {options.min_length}: the model writes at most {longest}")


def caption(
    pipeline: CaptioningPipeline, blocks: Blocks, options: CaptionOptions, report: Report
) -> Iterator[Record]:
    """A caption of each image; one that cannot be read is skipped with a message."""
    for block in blocks:
        read: list[Pixels | UserError] = []
        for item in block:
            try:
                read.append(pipeline.read(item.value))
            except UserError as error:
                read.append(error)
        good = [n for n, one in enumerate(read) if not isinstance(one, UserError)]
        pixels = [one for one in read if not isinstance(one, UserError)]
        names = [str(block[n].value) for n in good]
        found: Iterator[Caption] = iter(())
        if good:
            numbers = [block[n].number for n in good]
            found = iter(pipeline.describe(pixels, names, options, numbers))
        for item, one in zip(block, read, strict=True):
            yield Failure(item, str(one)) if isinstance(one, UserError) else next(found)


def write_csv(
    pipeline: CaptioningPipeline, records: Sequence[Any], options: Any, path: Path
) -> None:
    """Images and captions as a table, a row each."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(["image", "caption", "score"])
    for record in records:
        for text, score in record.alternatives:
            writer.writerow([record.image, text, f"{score:.4f}"])
    replace_durably(path, content.getvalue().encode())
