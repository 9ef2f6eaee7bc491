"""Token sequences on disk, memory-mapped: a corpus may be larger than memory.

A store is a folder of shards. A shard holds, for each side, the tokens of all its sequences end
to end (unsigned 16 or 32 bits) and the offset where each begins (64 bits). `store.json`, written
last, says how many there are and names every file with its size and SHA-256; it carries a digest
of itself too. Everything is flushed to the disk before it counts as written.
"""

import hashlib
import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, TypeAdapter

from landmark.core.errors import DamagedError
from landmark.core.storage import is_plain_name, make_folder, read_signed_as, signed, sync_folder

SHARD_TOKENS = 1 << 26
CONTENTS = "store.json"
_REMEDY = "put it back from a copy, or train again in another folder"


class ShardWriter:
    """Write sequences of several sides in step; used as `with ShardWriter(…) as writer`."""

    def __init__(
        self, folder: Path, sides: Sequence[str], vocab_size: int, shard_tokens: int = SHARD_TOKENS
    ):
        self.folder, self.sides, self.shard_tokens = folder, tuple(sides), shard_tokens
        self.dtype = np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.uint32)
        self.counts: list[int] = []
        self._tokens: dict[str, _HashedFile] = {}
        self._offsets: dict[str, array[int]] = {}
        self._written: dict[str, dict[str, Any]] = {}
        make_folder(folder)
        (folder / CONTENTS).unlink(missing_ok=True)  # complete again when all is written

    def __enter__(self) -> "ShardWriter":
        return self

    def write(self, sequences: Sequence[Sequence[int]]) -> None:
        """One sequence for each side."""
        if not self._tokens or self._offsets[self.sides[0]][-1] >= self.shard_tokens:
            self._next_shard()
        for side, sequence in zip(self.sides, sequences, strict=True):
            self._tokens[side].write(np.asarray(sequence, self.dtype).tobytes())
            self._offsets[side].append(self._offsets[side][-1] + len(sequence))
        self.counts[-1] += 1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:  # what is written stays incomplete: there is no table of contents
            for tokens in self._tokens.values():
                tokens.abandon()
            return
        self._close_shard()
        body = {
            "name": self.folder.name,
            "sides": self.sides,
            "dtype": self.dtype.name,
            "counts": self.counts,
            "files": self._written,
        }
        contents = _HashedFile(self.folder / CONTENTS)
        contents.write(signed(body))
        contents.close()
        for folder in (self.folder, self.folder.parent):
            sync_folder(folder)

    def _next_shard(self) -> None:
        self._close_shard()
        for side in self.sides:
            self._tokens[side] = _HashedFile(_tokens_path(self.folder, len(self.counts), side))
            self._offsets[side] = array("q", [0])
        self.counts.append(0)

    def _close_shard(self) -> None:
        for side, tokens in self._tokens.items():
            offsets = _HashedFile(_offsets_path(self.folder, len(self.counts) - 1, side))
            offsets.write(np.asarray(self._offsets[side], np.int64).tobytes())
            for file in (tokens, offsets):
                self._written[file.path.name] = file.close()
        self._tokens = {}


class _HashedFile:
    """A file whose bytes are counted and hashed on their way to the disk."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self.digest = path, 0, hashlib.sha256()
        self.file = path.open("wb")

    def write(self, content: bytes) -> None:
        try:
            self.file.write(content)
        except OSError as error:
            error.filename = str(self.path)  # to be named in the message
            raise
        self.digest.update(content)
        self.size += len(content)

    def close(self) -> dict[str, Any]:
        """Flush it to the disk; what the table of contents says of it."""
        try:
            with self.file as file:
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            error.filename = str(self.path)
            raise
        return {"bytes": self.size, "sha256": self.digest.hexdigest()}

    def abandon(self) -> None:
        """Close it after a failure, which is the one to report."""
        with suppress(OSError):
            self.file.close()


@dataclass(frozen=True)
class _File:
    bytes: int
    sha256: str


@dataclass(frozen=True)
class _Contents:
    """What store.json says."""

    name: str
    sides: tuple[str, ...]
    dtype: Literal["uint16", "uint32"]
    counts: tuple[NonNegativeInt, ...]
    files: dict[str, _File]


class TokenStore:
    """Read a store: `store[side, i]` is a sequence, `store.lengths[side]` all lengths.

    The table of contents and the size of every file are checked always; `verify` reads every file
    once and checks its digest too, before anything of it is used.
    """

    def __init__(self, folder: Path, verify: bool = False) -> None:
        self.folder = folder
        contents = read_signed_as(TypeAdapter(_Contents), folder / CONTENTS, _REMEDY)
        if contents.name != folder.name:
            raise DamagedError(f"{folder / CONTENTS}: is that of {contents.name!r}: {_REMEDY}")
        for name in (*contents.files, *contents.sides):
            if not is_plain_name(name):
                raise DamagedError(f"{folder / CONTENTS}: {name!r} leads elsewhere: {_REMEDY}")
        for name, written in contents.files.items():
            _check_file(folder / name, written, verify)
        self.sides = contents.sides
        self.dtype = np.dtype(contents.dtype)
        self.starts = np.concatenate(([0], np.cumsum(contents.counts))).astype(np.int64)
        self._open()

    def _open(self) -> None:
        self._tokens: dict[str, list[NDArray[Any]]] = {}
        self._offsets: dict[str, list[NDArray[np.int64]]] = {}
        self.lengths: dict[str, NDArray[np.int64]] = {}
        shards = range(len(self.starts) - 1)
        for side in self.sides:
            self._tokens[side] = [
                _map(_tokens_path(self.folder, n, side), self.dtype) for n in shards
            ]
            self._offsets[side] = [
                _map(_offsets_path(self.folder, n, side), np.dtype(np.int64)) for n in shards
            ]
            for number in shards:
                if len(self._tokens[side][number]) != self._offsets[side][number][-1]:
                    path = _offsets_path(self.folder, number, side)
                    raise DamagedError(f"{path}: damaged (its end is not the tokens'): {_REMEDY}")
            self.lengths[side] = np.concatenate(
                [np.diff(offsets) for offsets in self._offsets[side]] or [np.zeros(0, np.int64)]
            )

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, key: tuple[str, int]) -> NDArray[Any]:
        side, index = key
        shard = int(np.searchsorted(self.starts, index, side="right")) - 1
        offsets = self._offsets[side][shard]
        local = index - int(self.starts[shard])
        return self._tokens[side][shard][offsets[local] : offsets[local + 1]]

    def __getstate__(self) -> dict[str, Any]:
        """Worker processes open the maps anew instead of receiving a copy of the data."""
        return {
            "folder": self.folder,
            "sides": self.sides,
            "dtype": self.dtype,
            "starts": self.starts,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()


def _tokens_path(folder: Path, shard: int, side: str) -> Path:
    return folder / f"{shard:05d}.{side}.tokens"


def _offsets_path(folder: Path, shard: int, side: str) -> Path:
    return folder / f"{shard:05d}.{side}.offsets"


def _check_file(path: Path, written: _File, verify: bool) -> None:
    """A file must be as long as it was written and, to `verify`, hold the same bytes."""
    try:
        size = path.stat().st_size
        if size != written.bytes:
            raise DamagedError(f"{path}: {size} bytes long, not {written.bytes}: {_REMEDY}")
        if verify:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != written.sha256:
                raise DamagedError(f"{path}: damaged (not the bytes that were written): {_REMEDY}")
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read ({error.strerror}): {_REMEDY}") from None


def _map(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        if path.stat().st_size == 0:
            return np.zeros(0, dtype)
        return np.memmap(path, dtype=dtype, mode="r")
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path}: cannot be mapped ({error}): {_REMEDY}") from None
