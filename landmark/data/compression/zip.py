"""Zip archives: zipfile reads the table of contents, the members are unpacked here.

zipfile unpacks as much as the compressed bytes yield, whatever size a member states, and raises a
dozen kinds of errors for damaged ones.
"""

import bz2
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from landmark.core.errors import ItemError, UserError
from landmark.data.compression.stream import most_bytes, too_large

_PIECE = 1 << 16
_HEADER = 30
_LZMA_HEADER = 9
_MAGIC = b"PK\x03\x04"
_STORED, _DEFLATED, _BZIP2, _LZMA = 0, 8, 12, 14
_DENSEST = {_STORED: 1, _DEFLATED: 1032, _BZIP2: 25_000, _LZMA: 10_000}
"""Times their own size that compressed bytes can unpack to, by method."""
_ENCRYPTED = 1
_DAMAGED = (
    zipfile.BadZipFile,
    NotImplementedError,  # a version or a part of a set of disks
    struct.error,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    MemoryError,
)
"""What zipfile raises for a damaged table of contents."""
_BROKEN = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,  # a place that no file has
    zlib.error,
    lzma.LZMAError,
    MemoryError,
)
"""What decompressors raise for damaged bytes."""


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A file or a folder, as the table of contents has it."""

    name: str
    size: int
    packed: int
    offset: int
    method: int
    crc: int
    is_encrypted: bool

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")


class MemberError(ItemError):
    """A member that cannot be unpacked; the others can."""


class _Decoder(Protocol):
    """As the classes of bz2 and lzma have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def zip_members(path: Path) -> list[ZipMember]:
    """The table of contents, with `/` between folders."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [_member(info) for info in archive.infolist()]
    except _DAMAGED as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read as a .zip file: {reason}") from None
    _check_total(path, members)
    return members


def _check_total(path: Path, members: list[ZipMember]) -> None:
    """Refuse a bomb; a stated size that is impossible is damage, and counts no more than it can."""
    archive = path.stat().st_size
    most = most_bytes(archive)
    sizes = (min(m.size, min(m.packed, archive) * _DENSEST.get(m.method, 0)) for m in members)
    if sum(sizes) > most:
        raise too_large(path, most)


def _member(info: zipfile.ZipInfo) -> ZipMember:
    return ZipMember(
        info.filename.replace("\\", "/"),  # as some programs write it
        info.file_size,
        info.compress_size,
        info.header_offset,
        info.compress_type,
        info.CRC,
        bool(info.flag_bits & _ENCRYPTED),
    )


def unpack_member(path: Path, member: ZipMember) -> Iterator[bytes]:
    """A member's content in pieces, as many bytes as the table of contents states."""
    if member.is_encrypted:
        raise UserError(f"{path}: is password-protected: unpack it yourself")
    left, crc = member.size, 0
    try:
        with path.open("rb") as file:
            for piece in _decoded(file, member):
                left, crc = left - len(piece), zlib.crc32(piece, crc)
                yield piece
    except _BROKEN as error:
        reason = getattr(error, "strerror", None) or error
        raise MemberError(f"{path}/{member.name}: cannot be read: {reason}") from None
    if left or crc != member.crc:
        fault = f"it ends {left:,} bytes early" if left else "its checksum (CRC-32) is wrong"
        raise MemberError(f"{path}/{member.name}: cannot be read: {fault}")


def _decoded(file: BinaryIO, member: ZipMember) -> Iterator[bytes]:
    """The decompressed bytes, never more than stated. ValueError: it is damaged."""
    file.seek(_content_begins(file, member))
    header = file.read(_LZMA_HEADER) if member.method == _LZMA else b""
    packed, left = member.packed - len(header), member.size
    decoder = _decoder(member, header)
    while left and not decoder.eof:
        data = file.read(min(_PIECE, max(packed, 0))) if decoder.needs_input else b""
        packed -= len(data)
        piece = decoder.decompress(data, min(_PIECE, left))
        if not piece and not data and decoder.needs_input:
            return
        left -= len(piece)
        if piece:
            yield piece


def _content_begins(file: BinaryIO, member: ZipMember) -> int:
    """Behind the member's own header, which repeats its name."""
    file.seek(member.offset)
    header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise ValueError("there is no member where the table of contents has it")
    name, extra = struct.unpack("<HH", header[26:])
    return member.offset + _HEADER + int(name) + int(extra)


def _decoder(member: ZipMember, header: bytes) -> _Decoder:
    if member.method == _STORED:
        return _Stored()
    if member.method == _DEFLATED:
        return _Inflater()
    if member.method == _BZIP2:
        return bz2.BZ2Decompressor()
    if member.method == _LZMA:
        return _lzma_decoder(header, member.size)
    raise ValueError(f"compression method {member.method} is not supported")


def _lzma_decoder(header: bytes, size: int) -> _Decoder:
    """Version, length of the properties (5), the properties: one byte, then the dictionary's size.

    It is made no larger than the content, so that a header cannot ask for gigabytes.
    """
    if len(header) < _LZMA_HEADER or header[2:4] != b"\x05\x00" or header[4] >= 9 * 5 * 5:
        raise ValueError("its LZMA header is damaged")
    coder = {
        "id": lzma.FILTER_LZMA1,
        "lc": header[4] % 9,
        "lp": header[4] // 9 % 5,
        "pb": header[4] // 45,
        "dict_size": max(1 << 12, min(int.from_bytes(header[5:9], "little"), size)),
    }
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[coder])


class _Stored:
    """Bytes that are not compressed."""

    eof, needs_input = False, True

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return data[:max_length]


class _Inflater:
    """zlib's decompressor for deflate, with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
