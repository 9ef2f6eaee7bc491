"""Images that are decoded once and then memory-mapped: batches are made without reading files.

A store is a folder: the bytes of all images end to end (`pixels`), their heights and widths
(`shapes`), their classes (`labels`), what each is called (`places`), and `store.json`, written
last, which names these with their sizes and SHA-256 and carries a digest of itself.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from landmark.core.errors import DamagedError
from landmark.core.storage import (
    make_folder,
    read_checked,
    read_signed_as,
    signed,
    storage_error,
    sync_folder,
    write_durably,
)
from landmark.data.images.decoding import Fitting, Pixels
from landmark.data.images.source import ImageSource

CONTENTS = "store.json"
_REMEDY = "put it back from a copy, or train again in another folder"
_BLOCK = 1 << 18  # pixels that are measured together


class Images(Protocol):
    """Fitted images with their classes, ready to be put into batches."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Pixels:
        """(H, W, C)"""

    def place(self, index: int) -> str:
        """For messages: which image this is."""


def write_store(folder: Path, images: Iterable[tuple[Pixels, int, str]], channels: int) -> None:
    """Write images with their classes and names; nothing counts until all is on the disk."""
    make_folder(folder)
    (folder / CONTENTS).unlink(missing_ok=True)
    shapes, labels, places = [], [], []
    digest, path = hashlib.sha256(), folder / "pixels"
    try:
        with path.open("wb") as file:
            for pixels, label, place in images:
                content = np.ascontiguousarray(pixels).tobytes()
                file.write(content)
                digest.update(content)
                shapes.append(pixels.shape[:2])
                labels.append(label)
                places.append(place)
            size = file.tell()
            file.flush()
            os.fsync(file.fileno())
        written = {"pixels": {"bytes": size, "sha256": digest.hexdigest()}}
        contents = {
            "shapes": np.asarray(shapes, np.int32).tobytes(),
            "labels": np.asarray(labels, np.int32).tobytes(),
            "places": "\n".join(place.replace("\n", " ") for place in places).encode(),
        }
        for name, content in contents.items():
            write_durably(folder / name, content)
            sha256 = hashlib.sha256(content).hexdigest()
            written[name] = {"bytes": len(content), "sha256": sha256}
        body = {"name": folder.name, "channels": channels, "files": written}
        write_durably(folder / CONTENTS, signed(body))
        sync_folder(folder)
    except OSError as error:
        raise storage_error(folder, error) from None


@dataclass(frozen=True)
class _File:
    bytes: int
    sha256: str


@dataclass(frozen=True)
class _Files:
    pixels: _File
    shapes: _File
    labels: _File
    places: _File


@dataclass(frozen=True)
class _Contents:
    """What store.json says."""

    name: str
    channels: int
    files: _Files


class PixelStore:
    """Read a store: `store[i]` is an image, without a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        contents = read_signed_as(TypeAdapter(_Contents), folder / CONTENTS, _REMEDY)
        if contents.name != folder.name:
            raise DamagedError(f"{folder / CONTENTS}: is that of {contents.name!r}: {_REMEDY}")
        self.channels = contents.channels
        read = {
            name: read_checked(folder / name, getattr(contents.files, name).sha256, _REMEDY)
            for name in ("shapes", "labels", "places")
        }
        self.shapes = np.frombuffer(read["shapes"], np.int32).reshape(-1, 2)
        self.labels = np.frombuffer(read["labels"], np.int32).astype(np.int64)
        self.places = read["places"].decode().split("\n")
        lengths = self.shapes.astype(np.int64).prod(axis=1) * self.channels
        self.offsets = np.concatenate(([0], np.cumsum(lengths)))
        self._check_pixels(contents.files.pixels)
        self._map()

    def _check_pixels(self, written: _File) -> None:
        path = self.folder / "pixels"
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DamagedError(f"{path}: cannot be read ({error.strerror}): {_REMEDY}") from None
        if digest != written.sha256 or written.bytes != self.offsets[-1]:
            raise DamagedError(f"{path}: damaged (not the bytes that were written): {_REMEDY}")

    def _map(self) -> None:
        self._pixels: NDArray[np.uint8] = np.memmap(self.folder / "pixels", np.uint8, mode="r")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Pixels:
        height, width = self.shapes[index]
        flat = self._pixels[self.offsets[index] : self.offsets[index + 1]]
        return np.asarray(flat).reshape(height, width, self.channels)

    def place(self, index: int) -> str:
        return self.places[index]

    def blocks(self) -> Iterator[Pixels]:
        """All pixels of all images, many at a time. (N, C)"""
        flat = self._pixels.reshape(-1, self.channels)
        return (flat[start : start + _BLOCK] for start in range(0, len(flat), _BLOCK))

    def __getstate__(self) -> dict[str, Any]:
        """Worker processes open the map anew instead of receiving a copy of the data."""
        return {name: value for name, value in self.__dict__.items() if name != "_pixels"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()


@dataclass(frozen=True)
class LazyImages:
    """Images of a source that are read when they are asked for."""

    source: ImageSource
    fitting: Fitting

    @property
    def labels(self) -> NDArray[np.int64]:
        return self.source.labels

    def __len__(self) -> int:
        return len(self.source.labels)

    def __getitem__(self, index: int) -> Pixels:
        return self.source.pixels(index, self.fitting)

    def place(self, index: int) -> str:
        return self.source.place(index)


@dataclass(frozen=True)
class ImageList:
    """Images in memory."""

    images: Sequence[Pixels]
    labels: NDArray[np.int64]
    places: Sequence[str]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Pixels:
        return self.images[index]

    def place(self, index: int) -> str:
        return self.places[index]
