"""Images and labels in the idx format of MNIST, plain and gzipped."""

import gzip
import struct
from pathlib import Path

from benchmarks.faults.fuzzing.archive import gzip_bomb
from benchmarks.faults.fuzzing.target import Target
from landmark.core.errors import UserError
from landmark.data.images.idx import idx_source


def idx(*shape: int, content: bytes | None = None) -> bytes:
    size = 1
    for length in shape:
        size *= length
    values = bytes(n % 3 for n in range(size)) if content is None else content
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + values


def good() -> list[bytes]:
    found = [idx(3, 2, 2), idx(3), idx(3, 2, 2, 3)]
    return [*found, *map(gzip.compress, found)]


def read(path: Path) -> object:
    """As images and as labels, each beside a good file of the other kind."""
    images, labels = path.with_name("images"), path.with_name("labels")
    images.write_bytes(idx(3, 2, 2))
    labels.write_bytes(idx(3))
    try:
        return idx_source(images, path)
    except UserError:
        return idx_source(path, labels)


def hostile() -> list[bytes]:
    """Shapes that no memory holds, more dimensions than arrays have, and bombs."""
    huge = 0xFFFFFFFF
    return [
        idx(huge, huge, huge, content=b""),
        idx(huge, 0, 0),
        idx(0, huge),
        idx(huge, content=b"\0"),
        idx(*[1] * 255),
        idx(),
        gzip.compress(idx(1 << 28, 1, 1, content=b"")) + gzip_bomb(1 << 28),
        gzip.compress(idx(3 << 30, content=b"")) + gzip_bomb(1 << 30),
    ]


TARGETS = [
    Target("idx", "-ubyte", good, read, hostile, (b"\0\0\x08\x03", b"\0\0\x08\x01", b"\x1f\x8b"))
]
