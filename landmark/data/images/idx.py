"""The idx format, in which MNIST and Fashion-MNIST come: a few numbers, then bytes; gzipped or not.

Two zeros, a byte for the kind of numbers (8: bytes), a byte for how many dimensions there are, the
length of each (32 bits, highest byte first), then the numbers, the last dimension fastest.
"""

import math
import struct
from pathlib import Path

import numpy as np

from landmark.core.errors import UserError
from landmark.data.compression.stream import GZIP, open_unpacked
from landmark.data.images.decoding import Pixels
from landmark.data.images.source import ArraySource

_BYTES = 8
_SPLITS = {"train": "train", "test": "t10k"}
_MOST_DIMENSIONS = 4
_MOST_IMAGES = 1 << 25  # four times as many as the largest set in this format has


def read_idx(path: Path) -> Pixels:
    """The numbers of an idx file of bytes, in its shape."""
    content = read_bytes(path)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise UserError(f"{path}: is not an idx file: it does not start with two zero bytes")
    kind, dimensions = content[2], content[3]
    if kind != _BYTES:
        raise UserError(f"{path}: holds numbers of kind 0x{kind:02x}; images are bytes, 0x08")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise UserError(
            f"{path}: has {dimensions} dimensions; labels have 1, images 3 or 4: is it an idx file?"
        )
    begin = 4 + 4 * dimensions
    if len(content) < begin:
        raise UserError(f"{path}: is truncated inside its header: download it again")
    shape = struct.unpack(f">{dimensions}I", content[4:begin])
    expected = math.prod(shape)
    if len(content) - begin != expected:
        what = "is truncated" if len(content) - begin < expected else "has bytes after its end"
        raise UserError(
            f"{path}: {what}: its header promises {expected:,} bytes "
            f"({' x '.join(map(str, shape))}), there are {len(content) - begin:,}: "
            "download it again"
        )
    if not expected:
        raise UserError(f"{path}: holds no images")
    if shape[0] > _MOST_IMAGES:
        raise UserError(f"{path}: holds {shape[0]:,} images; at most {_MOST_IMAGES:,} are read")
    return np.frombuffer(content, np.uint8, offset=begin).reshape(shape)


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzipped."""
    try:
        with open_unpacked(path, GZIP) as stream:
            return stream.read()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def idx_source(images: Path, labels: Path, names: tuple[str, ...] | None = None) -> ArraySource:
    """Images and labels of two idx files; without names, classes are called by their numbers."""
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim not in (3, 4) or classes.ndim != 1:
        wrong, right = (images, "images") if classes.ndim == 1 else (labels, "labels")
        raise UserError(f"{wrong}: does not have the shape of {right}")
    if len(pixels) != len(classes):
        raise UserError(
            f"{images}: holds {len(pixels):,} images, but {labels.name} {len(classes):,} labels"
        )
    if pixels.ndim == 4 and pixels.shape[3] not in (1, 3):
        raise UserError(f"{images}: has {pixels.shape[3]} channels: 1 or 3 are possible")
    names = names or tuple(str(number) for number in range(int(classes.max()) + 1))
    if int(classes.max()) >= len(names):
        where = int(classes.argmax())
        raise UserError(
            f"{labels}: label {where + 1} is {classes.max()}, but there are {len(names)} classes"
        )
    return ArraySource(pixels, classes.astype(np.int64), names, str(images))


def find_idx(folder: Path) -> dict[str, tuple[Path, Path]]:
    """The idx files of a folder by split, images and labels; empty if there are none."""
    found = {}
    for split, stem in _SPLITS.items():
        images = _either(folder / f"{stem}-images-idx3-ubyte")
        labels = _either(folder / f"{stem}-labels-idx1-ubyte")
        if images and not labels:
            raise UserError(f"{images}: there is no {stem}-labels-idx1-ubyte beside it")
        if images and labels:
            found[split] = (images, labels)
    return found


def _either(path: Path) -> Path | None:
    packed = path.with_name(path.name + ".gz")
    return next((file for file in (path, packed) if file.is_file()), None)
