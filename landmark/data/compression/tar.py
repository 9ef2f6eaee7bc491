"""Tar archives, read from the beginning to the end: ustar, GNU and pax.

tarfile is not used: it takes as much memory for a header as that asks for, needs quadratic time for
some, and ends without a word at a damaged one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO, Literal

from landmark.core.errors import UserError
from landmark.data.compression.stream import BZIP2, GZIP, XZ, open_unpacked

_BLOCK = 512
_PIECE = 1 << 16
_LONGEST_HEADER = 1 << 20  # bytes of a long name or of pax records; a path has 4,096 at most
_FILES, _HARD, _SYMBOLIC, _FOLDER, _SPARSE = b"0\x007", b"1", b"2", b"5", b"S"
_EMPTY = b"123456"  # links, devices, folders and pipes have no content, whatever their size says
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"xX", b"g"


@dataclass(frozen=True, slots=True)
class TarMember:
    """A file, a folder or a link."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    offset: int
    """Where its content begins in the unpacked archive."""
    target: str = ""
    """What a link leads to, seen from the top of the archive."""


class TarReader:
    """The members of an archive in their order; the content of the last one can be read."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._stream = path, stream
        self._at = 0
        self._end = 0
        """Where the content of the last member ends."""

    def __iter__(self) -> Iterator[TarMember]:
        ahead: dict[str, str] = {}  # what the headers before this one say about the next member
        while header := self._header():
            kind, size = header[156:157], self._number(header[124:136])
            if kind in _LONG_NAME + _LONG_LINK + _PAX + _PAX_GLOBAL:
                ahead |= self._extension(kind, size)
                continue
            if kind == _SPARSE:
                self._skip_sparse_map(header)
            member = self._member(header, ahead)
            begin = self._at
            self._end = begin + member.size
            yield member
            self._skip(begin + _padded(member.size))
            ahead = {}

    @property
    def is_packed(self) -> bool:
        """Whether the archive can only be read from its beginning."""
        return not self._stream.seekable()

    def content(self) -> Iterator[bytes]:
        """The content of the member that came last, in pieces; less of it if the archive ends."""
        while piece := self._stream.read(min(_PIECE, self._end - self._at)):
            self._at += len(piece)
            yield piece

    def _member(self, header: bytes, ahead: dict[str, str]) -> TarMember:
        kind = header[156:157]
        name, prefix = _text(header[:100]), _text(header[345:500])
        if header[257:263] == b"ustar\0" and prefix:
            name = f"{prefix}/{name}"
        name = ahead.get("path", name)
        size = self._size(ahead["size"]) if "size" in ahead else self._number(header[124:136])
        link = ahead.get("linkpath", _text(header[157:257]))
        if kind in _EMPTY:
            size = 0
        if any(key.startswith("GNU.sparse.") for key in ahead):
            return TarMember(name, "other", size, self._at)
        if kind == _FOLDER or (kind in _FILES and name.endswith("/")):
            return TarMember(name, "folder", size, self._at)
        if kind in _FILES:
            return TarMember(name, "file", size, self._at)
        if kind == _HARD:
            return TarMember(name, "link", size, self._at, link)
        if kind == _SYMBOLIC:
            return TarMember(name, "link", size, self._at, f"{name}/../{link}")
        return TarMember(name, "other", size, self._at)

    def _header(self) -> bytes:
        """The next header; nothing at the end of the archive."""
        begin, header = self._at, self._read(_BLOCK)
        if not header.strip(b"\0"):
            return b""
        if len(header) < _BLOCK or not self._is_whole(header):
            raise self._damaged(f"no valid header at byte {begin:,}")
        return header

    def _is_whole(self, header: bytes) -> bool:
        """Whether the bytes have the sum that the header states; some take them as signed."""
        fields = header[:148] + b" " * 8 + header[156:]
        expected, total = self._number(header[148:156]), sum(fields)
        return expected in (total, total - 256 * sum(byte > 127 for byte in fields))

    def _extension(self, kind: bytes, size: int) -> dict[str, str]:
        """What a header says that is about the next one."""
        if size > _LONGEST_HEADER:
            raise self._damaged(
                f"a header of {size:,} bytes at byte {self._at:,}, the limit is {_LONGEST_HEADER:,}"
            )
        content = self._read(_padded(size))[:size]
        if kind == _PAX_GLOBAL:  # notes of the program that wrote it, such as a commit of git's
            return {}
        if kind in _PAX:
            return self._pax(content)
        return {"path" if kind == _LONG_NAME else "linkpath": _text(content)}

    def _pax(self, content: bytes) -> dict[str, str]:
        """Records of the form `length key=value`."""
        found, at = {}, 0
        while content[at : at + 1].strip(b"\0"):
            space = content.find(b" ", at, at + 20)
            length = self._size(_text(content[at:space])) if space > at else 0
            if length < max(space, at) + 2 - at:
                raise self._damaged(f"a pax header before byte {self._at:,} is damaged")
            key, _, value = content[space + 1 : at + length - 1].partition(b"=")
            found[_text(key)] = _text(value)
            at += length
        return found

    def _skip_sparse_map(self, header: bytes) -> None:
        """GNU's map of the holes goes on in blocks of its own."""
        goes_on = header[482:483] not in (b"\0", b"0", b"")
        while goes_on:
            block = self._read(_BLOCK)
            goes_on = block[504:505] not in (b"\0", b"0", b"")

    def _number(self, field: bytes) -> int:
        """Octal digits, or for large numbers the bytes themselves."""
        if field[:1] == b"\x80":
            return self._size(str(int.from_bytes(field[1:], "big")))
        digits = field.split(b"\0")[0].strip() or b"0"
        if not digits.isdigit() or digits.strip(b"01234567"):
            raise self._damaged(f"no valid header before byte {self._at:,}")
        return int(digits, 8)

    def _size(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise self._damaged(f"a size in the pax header before byte {self._at:,} is not valid")
        return int(text)

    def _read(self, count: int) -> bytes:
        content = self._stream.read(count)
        self._at += len(content)
        return content

    def _skip(self, place: int) -> None:
        """Go forward to a place, or to the end of the archive."""
        if self._stream.seekable():
            self._at = self._stream.seek(min(place, self._stream.seek(0, SEEK_END)))
            return
        while self._at < place and self._read(min(_PIECE, place - self._at)):
            pass

    def _damaged(self, reason: str) -> UserError:
        return UserError(f"{self._path}: cannot be read as a .tar file: {reason}: get it again")


def read_tar(path: Path) -> "Iterator[tuple[TarMember, TarReader]]":
    """Every member of an archive, and the reader to ask for its content."""
    with open_unpacked(path, GZIP, BZIP2, XZ) as stream:
        reader = TarReader(path, stream)
        for member in reader:
            yield member, reader


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("utf-8", "surrogateescape")
