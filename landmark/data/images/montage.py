"""Images put together to one picture, as a .png file or as characters on a terminal."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from landmark.core.storage import write_file
from landmark.data.images.decoding import Pixels

_GAP = 2
_MAGNIFIED = 96  # pixels a side that small images are magnified to, about
_SHADES = " .:-=+*#%@"


def write_rows(path: Path, rows: Sequence[Sequence[Pixels]], magnified: int = _MAGNIFIED) -> None:
    """Images of one size, row by row, as a .png file; small ones magnified to that many pixels."""
    write_file(path, _png(put_together(rows, magnified)))


def put_together(rows: Sequence[Sequence[Pixels]], magnified: int = _MAGNIFIED) -> Image.Image:
    """Images of one size, row by row, each magnified to about so many pixels a side."""
    side = max(rows[0][0].shape[:2])
    factor = max(1, magnified // side)
    height, width, channels = rows[0][0].shape
    columns = max(map(len, rows))
    size = (len(rows) * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, channels)
    canvas = np.full(size, 255, np.uint8)
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            top, left = y * (height + _GAP), x * (width + _GAP)
            canvas[top : top + height, left : left + width] = image
    return as_image(canvas.repeat(factor, 0).repeat(factor, 1))


def as_image(pixels: Pixels) -> Image.Image:
    """Pixels as an image of Pillow's. (H, W, C)"""
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def as_png(pixels: Pixels) -> bytes:
    """The content of a .png file. (H, W, C)"""
    return _png(as_image(pixels))


def _png(image: Image.Image) -> bytes:
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def square_rows(images: Sequence[Pixels]) -> list[Sequence[Pixels]]:
    """Images in rows, about as many as there are columns."""
    columns = math.ceil(math.sqrt(len(images)))
    return [images[start : start + columns] for start in range(0, len(images), columns)]


def as_characters(image: Pixels) -> list[str]:
    """An image in ten shades, two characters a pixel: as high as it is wide."""
    grey = image.mean(2) / 256
    return ["".join(2 * _SHADES[int(value * len(_SHADES))] for value in row) for row in grey]
