"""Files that may be compressed (gzip, bzip2, xz), read as a stream that has an end.

A file of a few megabytes can unpack to thousands of times its size. `most_bytes` says how much a
file may unpack to, and every reader of compressed files goes through here.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from landmark.core.errors import UserError

SMALL = 1 << 28
"""Bytes that any file may unpack to: they fit into any memory."""
RATIO = 100
"""Times its own size that a larger file may unpack to. Text is 3 to 10 times as large, a log file
up to 50 times, images at most a few times; bombs are 1,000 (gzip) to 20,000 times (bzip2) as large.
"""
GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"
_NAMES = {GZIP: "gzip", BZIP2: "bzip2", XZ: "xz"}
_OPENED: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    GZIP: lambda raw: gzip.GzipFile(fileobj=raw),
    BZIP2: bz2.BZ2File,
    XZ: lzma.LZMAFile,
}
_BUFFER = 1 << 16


def most_bytes(packed: int) -> int:
    """How much a file of so many bytes may unpack to."""
    return max(SMALL, RATIO * packed)


def too_large(place: str | Path, most: int) -> UserError:
    """A file that unpacks to more than its size lets one expect."""
    return UserError(
        f"{place}: unpacks to more than {most:,} bytes, too much for a file of its size: if you "
        "trust it, unpack it yourself"
    )


@contextmanager
def open_unpacked(path: Path, *kinds: bytes) -> Iterator[io.BufferedReader]:
    """A file's content, unpacked if it is compressed in one of these ways; `kinds`: magic bytes."""
    with path.open("rb") as raw:
        assert isinstance(raw, io.BufferedReader)
        beginning = raw.peek(8)
        kind = next((kind for kind in kinds if beginning.startswith(kind)), None)
        if kind is None:
            yield raw
        else:
            yield io.BufferedReader(_Unpacked(path, raw, kind), _BUFFER)


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, as far as it may reach."""

    def __init__(self, path: Path, raw: BinaryIO, kind: bytes) -> None:
        self.path, self.kind = path, _NAMES[kind]
        self.most = self.left = most_bytes(path.stat().st_size)
        self.file = _OPENED[kind](raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        try:
            piece = self.file.read(len(buffer))
        # xz files may ask for a dictionary of 4 GB.
        except (OSError, EOFError, zlib.error, lzma.LZMAError, MemoryError) as error:
            raise UserError(
                f"{self.path}: damaged {self.kind} file ({error or 'too large'}): get it again"
            ) from None
        self.left -= len(piece)
        if self.left < 0:
            raise too_large(self.path, self.most)
        buffer[: len(piece)] = piece
        return len(piece)
