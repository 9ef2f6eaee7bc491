"""`landmark interpolate --output`: ways between samples as a strip (.png) or as a film (.gif)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from landmark.core.storage import write_file

if TYPE_CHECKING:
    from landmark.tasks.image_generation.options import InterpolateOptions
    from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline
    from landmark.tasks.image_generation.verbs import Between

_FRAME = 80  # milliseconds
_MAGNIFIED = 192  # pixels a side of the film


def write(
    pipeline: "ImageGenerationPipeline",
    records: "Sequence[Between]",
    options: "InterpolateOptions",
    path: Path,
) -> None:
    """A row a way, or all ways one after another."""
    from landmark.data.images.montage import put_together, write_rows
    from landmark.figures.gif import as_gif

    if path.suffix != ".gif":
        write_rows(path, [record.images for record in records])
        return
    images = [image for record in records for image in record.images]
    frames = [put_together([[image]], _MAGNIFIED).convert("RGB") for image in images]
    write_file(path, as_gif(frames, _FRAME, _FRAME))
