"""Images of a few pixels, in every format that is read."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

from benchmarks.faults.fuzzing.target import Target
from landmark.data.images.decoding import Fitting, read_image

_FITTING = Fitting(size=8)


def good() -> list[bytes]:
    from PIL import Image

    found: list[bytes] = []
    for mode in ("RGB", "L", "1", "P", "RGBA", "I;16"):
        for form in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "JPEG2000"):
            options: dict[str, Any] = {"exif": _turned()} if form in ("JPEG", "PNG") else {}
            file = io.BytesIO()
            try:
                Image.new(mode, (7, 5), 3).save(file, form, **options)
            except OSError:  # formats have not all modes
                continue
            found.append(file.getvalue())
    return found


def _turned() -> bytes:
    """A camera's note that it was held upright."""
    from PIL import Image

    note = Image.Exif()
    note[0x0112] = 6
    return note.tobytes()


def read(path: Path) -> object:
    return read_image(path, _FITTING)


def hostile() -> list[bytes]:
    """Sizes that no memory holds, thin strips, and text chunks that unpack to gigabytes."""
    text = zlib.compress(bytes(1 << 28), 9)
    found = [
        png(width, height, chunks)
        for width, height in ((1, 1), (1 << 30, 1 << 30), (9000, 9000), (80_000_000, 1))
        for chunks in ((), ((b"zTXt", b"a\0\0" + text),), ((b"iCCP", b"a\0\0" + text),))
    ]
    bitmap = struct.pack(
        "<2sIHHIIiiHHIIiiII", b"BM", 58, 0, 0, 54, 40, 1 << 30, 1 << 30, 1, 24, *[0] * 6
    )
    return [*found, bitmap, b"P6 99999999 99999999 255\n", b"%!PS-Adobe-3.0 EPSF\nshowpage\n", b""]


def png(width: int, height: int, chunks: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
    """A PNG with a size of its own choice and hardly any pixels."""
    its = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for name, content in ((b"IHDR", head), *chunks, (b"IDAT", zlib.compress(b"\0" * 9))):
        its += struct.pack(">I", len(content)) + name + content
        its += struct.pack(">I", zlib.crc32(name + content))
    return its + bytes(4) + b"IEND\xaeB`\x82"


TOKENS = (
    b"IHDR",
    b"IDAT",
    b"tRNS",
    b"PLTE",
    b"\xff\xd8",
    b"\xff\xdb",
    b"\xff\xe1",
    b"II*\0",
    b"RIFF",
)
TARGETS = [Target("image", ".img", good, read, hostile, TOKENS)]
