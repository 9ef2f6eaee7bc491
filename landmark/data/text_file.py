"""Text files line by line, plain or gzipped; every fault names the file and the line."""

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from landmark.core.errors import ItemError, UserError
from landmark.data.compression.stream import GZIP, open_unpacked

NUL = "a NUL byte, which no text has"
LONGEST_LINE = 1 << 24
"""Bytes of a line that is one item (a sentence, a document to label): five Bibles."""
LONGEST_TEXT_LINE = 1 << 27
"""Bytes of a line of running text or JSON: text8, a common corpus, is a line of 100,000,000."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def digest_file(name: str | Path) -> str:
    """A digest of a file's bytes."""
    try:
        with Path(name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except IsADirectoryError:
        raise UserError(f"{name}: is a folder, not a file") from None
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror}") from None


def is_valid(text: str) -> bool:
    """Whether it is UTF-8: Python holds the invalid bytes of an argument as surrogates."""
    return not _LONE_SURROGATE.search(text)


def check_text(text: Any, place: str) -> str:
    """A text that a user gave, if it is one; `place` names it in messages."""
    if not isinstance(text, str):
        raise ItemError(f"{place} is not a text, but of type {type(text).__name__}")
    if not is_valid(text):
        raise ItemError(f"{place} is not valid UTF-8")
    return text


def check_texts(texts: Any) -> list[Any]:
    """Several texts, if that is what a user gave; each is checked where it is read."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise UserError(f"give a list of texts, not one object of type {type(texts).__name__}")
    return list(texts)


def read_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a text file without their ends; `longest`: bytes that a line may have."""
    return (line.rstrip("\r\n") for line in _decoded(path, longest))


def read_raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a text file as bytes, with their ends: for readers that skip bad ones."""
    return (line for _, line in _numbered(path, LONGEST_LINE))


def read_text(path: Path) -> Iterator[str]:
    """The lines of a text file with their ends (\\r\\n becomes \\n)."""
    lines = _decoded(path, LONGEST_TEXT_LINE)
    return (line[:-2] + "\n" if line.endswith("\r\n") else line for line in lines)


def line_too_long(place: str, longest: int = LONGEST_LINE) -> UserError:
    """A line that is no line of text; `place` names it."""
    return UserError(
        f"{place}: the line is longer than {longest:,} bytes: break it into lines, if it is text"
    )


def _decoded(path: Path, longest: int) -> Iterator[str]:
    return (_decode(line, path, number) for number, line in _numbered(path, longest))


def _numbered(path: Path, longest: int) -> Iterator[tuple[int, bytes]]:
    try:
        with open_unpacked(path, GZIP) as stream:
            _refuse_utf16(path, stream.peek(2)[:2])
            for number, line in enumerate(iter(partial(stream.readline, longest + 1), b""), 1):
                if len(line) > longest:
                    raise line_too_long(f"{path}:{number}", longest)
                yield number, line
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _refuse_utf16(path: Path, beginning: bytes) -> None:
    """Its mark, or the zero byte of a Latin letter; lines of it may pass for UTF-8."""
    if beginning in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in beginning:
        raise UserError(
            f"{path}: is UTF-16, not UTF-8 (or no text): convert it, for example with "
            "iconv -f UTF-16 -t UTF-8"
        )


def _decode(line: bytes, path: Path, number: int) -> str:
    if b"\0" in line:
        raise UserError(f"{path}:{number}: {NUL}: remove it, or convert the file")
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")  # it may begin with a mark
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: not valid UTF-8 (byte {error.start + 1} of the line): "
            "convert the file, for example with iconv"
        ) from None
