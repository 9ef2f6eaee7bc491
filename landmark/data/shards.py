"""Token sequences on disk, memory-mapped: a corpus may be larger than memory.

A store is a folder of shards. A shard holds, for each side, the tokens of all its sequences end
to end (unsigned 16 or 32 bits) and the offset where each begins (64 bits); `store.json` says how
many there are.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError

SHARD_TOKENS = 1 << 26


class ShardWriter:
    """Write sequences of several sides in step; used as `with ShardWriter(…) as writer`."""

    def __init__(
        self, folder: Path, sides: Sequence[str], vocab_size: int, shard_tokens: int = SHARD_TOKENS
    ):
        self.folder, self.sides, self.shard_tokens = folder, tuple(sides), shard_tokens
        self.dtype = np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.uint32)
        self.counts: list[int] = []
        self._files: dict[str, Any] = {}
        self._offsets: dict[str, list[int]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "store.json").unlink(missing_ok=True)  # complete again when all is written

    def __enter__(self) -> "ShardWriter":
        return self

    def write(self, sequences: Sequence[Sequence[int]]) -> None:
        """One sequence for each side."""
        if not self._files or self._offsets[self.sides[0]][-1] >= self.shard_tokens:
            self._next_shard()
        for side, sequence in zip(self.sides, sequences, strict=True):
            self._files[side].write(np.asarray(sequence, self.dtype).tobytes())
            self._offsets[side].append(self._offsets[side][-1] + len(sequence))
        self.counts[-1] += 1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._close_shard()
        if kind is None:
            facts = {"sides": self.sides, "dtype": self.dtype.name, "counts": self.counts}
            (self.folder / "store.json").write_text(json.dumps(facts))

    def _next_shard(self) -> None:
        self._close_shard()
        for side in self.sides:
            self._files[side] = _tokens_path(self.folder, len(self.counts), side).open("wb")
            self._offsets[side] = [0]
        self.counts.append(0)

    def _close_shard(self) -> None:
        for side, file in self._files.items():
            file.close()
            offsets = np.asarray(self._offsets[side], np.int64)
            offsets.tofile(_offsets_path(self.folder, len(self.counts) - 1, side))
        self._files = {}


class TokenStore:
    """Read a store: `store[side, i]` is a sequence, `store.lengths[side]` all lengths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            facts = json.loads((folder / "store.json").read_text())
            self.sides: tuple[str, ...] = tuple(facts["sides"])
            self.dtype = np.dtype(facts["dtype"])
            self.starts = np.concatenate(([0], np.cumsum(facts["counts"]))).astype(np.int64)
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(
                f"{folder}: no complete token store; train again to rebuild it"
            ) from None
        self._open()

    def _open(self) -> None:
        self._tokens: dict[str, list[NDArray[Any]]] = {}
        self._offsets: dict[str, list[NDArray[np.int64]]] = {}
        self.lengths: dict[str, NDArray[np.int64]] = {}
        for side in self.sides:
            shards = range(len(self.starts) - 1)
            self._tokens[side] = [
                _map(_tokens_path(self.folder, n, side), self.dtype) for n in shards
            ]
            self._offsets[side] = [
                _map(_offsets_path(self.folder, n, side), np.dtype(np.int64)) for n in shards
            ]
            for number in shards:
                offsets = self._offsets[side][number]
                if len(offsets) != self.starts[number + 1] - self.starts[number] + 1:
                    raise UserError(f"{_offsets_path(self.folder, number, side)}: is cut short")
                if len(self._tokens[side][number]) != offsets[-1]:
                    raise UserError(f"{_tokens_path(self.folder, number, side)}: is cut short")
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


def _map(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        if path.stat().st_size == 0:
            return np.zeros(0, dtype)
        return np.memmap(path, dtype=dtype, mode="r")
    except (OSError, ValueError):
        raise UserError(f"{path}: missing or cut short; train again to rebuild it") from None
