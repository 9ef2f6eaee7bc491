"""Text files line by line, plain or gzipped; every fault names the file and the line."""

import codecs
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from landmark.core.errors import ItemError, UserError

NUL = "a NUL byte, which no text has"
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


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file without their ends."""
    return (line.rstrip("\r\n") for line in _decoded(path))


def read_raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a text file as bytes, with their ends: for readers that skip bad ones."""
    return (line for _, line in _numbered(path))


def read_text(path: Path) -> Iterator[str]:
    """The lines of a text file with their ends (\\r\\n becomes \\n)."""
    return (line[:-2] + "\n" if line.endswith("\r\n") else line for line in _decoded(path))


def _decoded(path: Path) -> Iterator[str]:
    return (_decode(line, path, number) for number, line in _numbered(path))


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as raw:
            is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
            stream = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if is_packed else raw
            _refuse_utf16(path, stream.peek(2)[:2])
            yield from enumerate(stream, 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UserError(f"{path}: damaged gzip file: {error}") from None
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
