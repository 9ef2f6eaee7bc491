"""Images put together to one picture, as a .png file or as characters on a terminal."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from landmark.core.storage import write_file
from landmark.data.images.decoding import Pixels

_GAP = 2
_MAGNIFIED = 96  # pixels a side that small images are magnified to, about
_SHADES = " .:-=+*#%@"


def write_rows(path: Path, rows: Sequence[Sequence[Pixels]]) -> None:
    """Images of one size, row by row, small ones magnified."""
    side = max(rows[0][0].shape[:2])
    factor = max(1, _MAGNIFIED // side)
    height, width, channels = rows[0][0].shape
    columns = max(map(len, rows))
    size = (len(rows) * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, channels)
    canvas = np.full(size, 255, np.uint8)
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            top, left = y * (height + _GAP), x * (width + _GAP)
            canvas[top : top + height, left : left + width] = image
    large = canvas.repeat(factor, 0).repeat(factor, 1)
    picture = Image.fromarray(large[..., 0] if channels == 1 else large)
    content = io.BytesIO()
    picture.save(content, "PNG")
    write_file(path, content.getvalue())


def as_characters(image: Pixels) -> list[str]:
    """An image in ten shades, two characters a pixel: as high as it is wide."""
    grey = image.mean(2) / 256
    return ["".join(2 * _SHADES[int(value * len(_SHADES))] for value in row) for row in grey]
