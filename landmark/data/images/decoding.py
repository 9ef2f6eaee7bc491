"""Image decoding: any file to 8-bit greyscale or RGB pixels, upright and resized.

Transparent parts become white, 16 bits become 8, a camera's note on how it was held is obeyed.
What cannot be read, or would fill the memory, is a `BrokenImageError` that says which file and why.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from landmark.core.errors import ItemError, UserError

Pixels = NDArray[np.uint8]
Fit = Literal["crop", "squeeze", "pad"]
Interpolation = Literal["bilinear", "bicubic"]
Size = int | tuple[int, int]
"""Pixels a side, or height and width."""
_NAMES = "jpg jpeg jpe png gif bmp webp tif tiff ppm pgm pbm pnm jp2 avif"
SUFFIXES = frozenset(f".{name}" for name in _NAMES.split(" "))
MOST_PIXELS = 89_478_485  # a quarter of a gigabyte in colour; Pillow's own limit
_BAND = 1 << 22  # pixels that are converted at a time
_THINNEST = 64  # times as long as wide, or scaling would make it huge
_WIDE = 257  # 65535 / 255
# By name, because Pillow knows formats that run other programs (PostScript), too.
_FORMATS = ("JPEG", "MPO", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "JPEG2000", "AVIF")

# Larger images are refused below, in our own words.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


Picture = str | Path | Pixels | Image.Image
"""An image as it is given: a file, an image of Pillow's, or pixels (H, W) or (H, W, 1, 3 or 4)."""


class BrokenImageError(ItemError):
    """An image that cannot be used: named, and skipped where the user allows it."""


@dataclass(frozen=True)
class Fitting:
    """How an image is brought into the form that it is kept in."""

    size: Size | None = None
    """Pixels per side; height and width: exactly these; None: keep the image's size."""
    fit: Fit = "crop"
    """crop: the shorter side becomes `size`; pad: the longer one; squeeze: both."""
    channels: int = 3
    interpolation: Interpolation = "bilinear"

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of an image once it is scaled."""
        if self.size is None:
            return width, height
        high, wide = sides(self.size)
        if self.fit == "squeeze":
            return wide, high
        choose = max if self.fit == "crop" else min
        ratio = choose(wide / width, high / height)
        return max(1, round(width * ratio)), max(1, round(height * ratio))


def sides(size: Size) -> tuple[int, int]:
    """Height and width."""
    return size if isinstance(size, tuple) else (size, size)


def resampling(interpolation: Interpolation) -> Image.Resampling:
    """Pillow's filter of that name; each is made wider where images become smaller."""
    return Image.Resampling[interpolation.upper()]


@cache
def _readable() -> tuple[str, ...]:
    """Those of the formats that this Pillow was built with."""
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def read_image(path: Path, fitting: Fitting) -> Pixels:
    """The pixels of a file. (H, W, C)"""
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise ItemError(f"{path}: is a folder, not an image") from None
    except OSError as error:
        raise ItemError(f"{path}: cannot be read: {error.strerror}") from None
    return decode(content, str(path), fitting)


def decode(content: bytes, place: str, fitting: Fitting) -> Pixels:
    """The pixels of a file's bytes; `place` names it in messages. (H, W, C)"""
    try:
        with Image.open(BytesIO(content), formats=_readable()) as image:
            _check_size(*image.size, place, fitting)
            if fitting.size and image.format == "JPEG":  # which can be read smaller, and quicker
                width, height = fitting.scaled(*image.size)
                image.draft(None, (2 * width, 2 * height))
            ImageOps.exif_transpose(image, in_place=True)
            return _fitted(_eight_bits(image, place), fitting)
    except UserError:
        raise
    except UnidentifiedImageError:
        raise BrokenImageError(f"{place}: is not an image in a supported format") from None
    except Image.DecompressionBombError:
        raise _too_large(place) from None
    except Exception as error:  # Pillow's readers raise whatever a damaged file makes them
        raise BrokenImageError(f"{place}: is damaged ({' '.join(str(error).split())})") from None


def fit_pixels(pixels: Pixels, fitting: Fitting) -> Pixels:
    """Pixels that are decoded already, in the form they are kept in. (H, W[, C]) -> (H, W, C)"""
    height, width = pixels.shape[:2]
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    is_cut = isinstance(fitting.size, tuple) and fitting.size != (height, width)
    is_scaled = fitting.scaled(width, height) != (width, height)
    if channels == fitting.channels and not is_scaled and not is_cut:
        return pixels.reshape(height, width, channels)
    flat = pixels[..., 0] if pixels.ndim == 3 and channels == 1 else pixels
    return _fitted(Image.fromarray(flat), fitting)


def check_pictures(images: Any) -> list[Picture]:
    """Several images, if that is what a user gave; each is checked where it is read."""
    is_one = isinstance(images, str | bytes | Path | Image.Image) or getattr(images, "ndim", 4) < 4
    if is_one or not isinstance(images, Iterable):
        raise UserError(f"give a list of images, not one object of type {type(images).__name__}")
    return list(images)


def read_picture(image: Picture, fitting: Fitting) -> Pixels:
    """An image however it is given, in the form asked for. (H, W, C)"""
    if isinstance(image, (str, Path)):
        return read_image(Path(image), fitting)
    if isinstance(image, Image.Image):
        image = np.asarray(image.convert("RGB"))
    if not isinstance(image, np.ndarray):
        raise UserError(
            f"an image is a path, an array of pixels or an image of Pillow's, "
            f"not {type(image).__name__}"
        )
    return read_pixels(image, fitting)


def read_pixels(pixels: Pixels, fitting: Fitting) -> Pixels:
    """Pixels as somebody gives them, read as their file would be. (H, W[, 1|3|4]) -> (H, W, C)"""
    has_shape = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4))
    if pixels.dtype != np.uint8 or not has_shape or not pixels.size:
        raise UserError(
            "pixels are bytes of shape (height, width) or (height, width, channels), "
            f"channels 1, 3 or 4: not {pixels.dtype} of shape {pixels.shape}"
        )
    _check_size(pixels.shape[1], pixels.shape[0], "pixels", fitting)
    if pixels.shape[2:] == (4,):
        pixels = np.asarray(_eight_bits(Image.fromarray(pixels), "pixels"))
    return fit_pixels(pixels, fitting)


def _check_size(width: int, height: int, place: str, fitting: Fitting) -> None:
    if width * height > MOST_PIXELS:
        raise _too_large(place, f"{width} x {height} pixels ")
    scales = fitting.size is not None and fitting.fit == "crop"
    if scales and max(width, height) > _THINNEST * min(width, height):
        raise BrokenImageError(
            f"{place}: is {width} x {height} pixels: too narrow to be resized to "
            f"{' x '.join(str(side) for side in sides(fitting.size or 0)[::-1])}"
        )


def _too_large(place: str, size: str = "") -> BrokenImageError:
    return BrokenImageError(
        f"{place}: {size or 'its size '}is too large for memory: the limit is "
        f"{MOST_PIXELS:,} pixels"
    )


def _eight_bits(image: Image.Image, place: str) -> Image.Image:
    """Grey or RGB of 8 bits, whatever it was."""
    if image.mode.startswith("I"):  # 16 bits, or 32 that hold 16
        return _in_bands(image, "L", _sixteen_bits)
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        return _in_bands(image, "RGB", _on_white)
    if image.mode in ("L", "RGB"):
        return image
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "F":
        raise BrokenImageError(
            f"{place}: has floating-point pixels: save it with 8 bits per channel"
        )
    return image.convert("RGB")


def _in_bands(
    image: Image.Image, mode: str, convert: Callable[[Image.Image], Image.Image]
) -> Image.Image:
    """Convert a large image some rows at a time, as the steps need several times its memory."""
    if image.width * image.height <= _BAND:
        return convert(image)
    whole, rows = Image.new(mode, image.size), max(1, _BAND // image.width)
    for top in range(0, image.height, rows):
        box = (0, top, image.width, min(top + rows, image.height))
        whole.paste(convert(image.crop(box)), box)
    return whole


def _on_white(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def _sixteen_bits(image: Image.Image) -> Image.Image:
    """Grey of 8 bits; the one value that may be transparent becomes white."""
    values = np.asarray(image).astype(np.int64)
    grey = (values.clip(0, 65535) // _WIDE).astype(np.uint8)
    if "transparency" in image.info:
        grey[values == image.info["transparency"]] = 255
    return Image.fromarray(grey)


def _fitted(image: Image.Image, fitting: Fitting) -> Pixels:
    mode = "L" if fitting.channels == 1 else "RGB"
    image = image if image.mode == mode else image.convert(mode)
    size = fitting.scaled(*image.size)
    if size != image.size:
        image = image.resize(size, resampling(fitting.interpolation))
    if isinstance(fitting.size, tuple) and image.size != fitting.size[::-1]:
        image = _around_centre(image, *fitting.size)
    pixels = np.array(image, dtype=np.uint8)
    return pixels.reshape(*pixels.shape[:2], fitting.channels)


def _around_centre(image: Image.Image, height: int, width: int) -> Image.Image:
    """The middle of an image, with black around it where it is smaller."""
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))
