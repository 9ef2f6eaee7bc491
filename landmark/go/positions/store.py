"""Packed positions in a folder: positions.npy, which is memory-mapped, and positions.json."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import (
    beside,
    make_folder,
    read_signed,
    signed,
    storage_error,
    sync_folder,
    write_file,
)
from landmark.go.positions.packed import (
    IS_TARGET,
    TEST,
    TRAIN,
    VALID,
    packed_dtype,
    states_of,
)

RECORDS, FACTS = "positions.npy", "positions.json"
_FORMAT = 1
_REMEDY = "pack the games again"
_CHUNK = 1 << 24
SPLITS = {"train": TRAIN, "valid": VALID, "test": TEST}


@dataclass(frozen=True)
class Positions:
    """The packed positions of a folder, read-only."""

    records: np.ndarray
    """Of packed_dtype(size), memory-mapped; the positions of a game follow one another."""
    size: int
    facts: dict[str, Any]
    """The JSON: komi, numbers of games, positions, targets and openings, how owners were found."""

    def __len__(self) -> int:
        return len(self.records)

    def indices(self, split: str | None = None, flags: int = IS_TARGET, without: int = 0) -> Any:
        """Numbers of the positions of a split (train, valid, test; None: all) that have all of
        these flags and none of others."""
        if split is not None and split not in SPLITS:
            raise UserError(f"split {split!r}: choose one of {', '.join(SPLITS)}")
        found = (self.records["flags"] & (flags | without)) == flags
        if split is not None:
            found &= self.records["split"] == SPLITS[split]
        return np.flatnonzero(found)

    def states(self, indices: np.ndarray) -> np.ndarray:
        """The STATE records of some positions."""
        return states_of(self.records[indices], self.size)


def write_positions(folder: Path, records: np.ndarray, size: int, facts: dict[str, Any]) -> None:
    """Put records and facts into a folder; what was there before stays whole until the end."""
    make_folder(folder)
    path = folder / RECORDS
    partial = beside(path, "partial")
    try:
        with partial.open("wb") as file:
            np.lib.format.write_array(file, records, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        body = {**facts, "format": _FORMAT, "size": size, "sha256_of_records": _digest(partial)}
        (folder / FACTS).unlink(missing_ok=True)
        partial.replace(path)
        sync_folder(folder)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise storage_error(path, error) from None
    write_file(folder / FACTS, signed(body))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
    return found.hexdigest()


def open_positions(folder: Path) -> Positions:
    """The positions of a folder, after checking them against their digest."""
    facts_path, path = folder / FACTS, folder / RECORDS
    if not facts_path.exists() or not path.exists():
        raise UserError(f"{folder}: no packed positions there")
    facts = read_signed(facts_path, _REMEDY)
    if facts.get("format") != _FORMAT:
        raise UserError(f"{facts_path}: written by another version: {_REMEDY}")
    if _digest(path) != facts["sha256_of_records"]:
        raise DamagedError(f"{path}: damaged (its SHA-256 is not the one in {FACTS}): {_REMEDY}")
    records = np.load(path, mmap_mode="r", allow_pickle=False)
    size = int(facts["size"])
    if records.dtype != packed_dtype(size) or len(records) != facts["positions"]:
        raise DamagedError(f"{path}: is not what {FACTS} describes: {_REMEDY}")
    return Positions(records, size, {k: v for k, v in facts.items() if k != "sha256"})
