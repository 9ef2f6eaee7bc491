"""The run directory: recipe, log, checkpoints and whatever is needed to use the model elsewhere.

The recipe and the pointers carry a digest: a flipped bit never changes a setting or names another
checkpoint in silence. What a killed trainer left half done is cleared when the next one takes the
lock.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from landmark.core.configuration import read_settings, shortened
from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import (
    link_error,
    make_folder,
    open_own,
    read_own,
    replace_durably,
    storage_error,
    sync_folder,
    write_whole,
)
from landmark.core.structured_text import LONGEST_JSON, LONGEST_YAML, parse_json
from landmark.engine.checkpoint import delete_checkpoint, read_facts, recover

RECIPE, LOG, LOCK = "recipe.yaml", "log.jsonl", "lock"
POINTERS = ("averaged", "best", "latest")
LOG_BYTES = 16 << 20
"""A log that has grown to this size is put aside as the next log-000001.jsonl."""
_LOG_REMEDY = "delete that line, or take the log from a backup"
_MEASURED = ("train", "valid", "average")
"""Kinds of records that consist of numbers."""
_TEXTS = ("kind", "unit", "loss_includes", "weights")
_MOST_TORN = 10_000  # lines: each crash leaves one
_TAIL_BYTES = 1 << 16
_LONGEST_POINTER = 1 << 10
_AT_THE_END = ("average", "end")
"""Kinds of records that follow the last update."""
_DIGEST = b"# sha256: "
_STEP = re.compile(r"step-([0-9]{6,18})")
_NUMBERED = re.compile(r"(?:step|averaged)-([0-9]{6,18})")
_NUMBER = re.compile(r"[0-9]{1,18}")
_LOG_PART = re.compile(r"log-([0-9]{6,18})\.jsonl")
_OURS = re.compile(
    rf"{_NUMBERED.pattern}|{'|'.join(POINTERS)}|recipe\.yaml|log\.jsonl|{_LOG_PART.pattern}"
)
_held_locks: set[BinaryIO] = set()


def _let_go_of_locks() -> None:
    """A forked worker must not share its parent's lock: it may live on after it for seconds."""
    while _held_locks:
        _held_locks.pop().close()


os.register_at_fork(after_in_child=_let_go_of_locks)


class Run:
    """One training's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"

    def __fspath__(self) -> str:
        """Its folder, so that whatever takes a run's path takes the run."""
        return str(self.folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """An existing run; anything else is the user's mistake."""
        if not folder.exists():
            raise UserError(f"{folder}: there is no such run; `landmark runs` lists the runs")
        if not (folder / RECIPE).is_file():
            raise UserError(f"{folder}: is not a run: it has no {RECIPE}")
        return cls(folder)

    def write_recipe(self, text: str) -> None:
        """Write the resolved configuration, with a digest of it as the last line."""
        make_folder(self.folder)
        replace_durably(self.folder / RECIPE, _signed(text.encode()))

    def read_recipe(self) -> dict[str, Any]:
        """The resolved configuration as plain values, `environment` and `identity` included."""
        path = self.folder / RECIPE
        content = read_own(path, "put the original back", LONGEST_YAML)
        text = content.rpartition(_DIGEST)[0]
        if content != _signed(text):
            raise DamagedError(
                f"{path}: damaged, or changed since it was written: put the original back "
                "(to train with other settings, copy it and name another folder by --run)"
            )
        values, _ = read_settings(text, path)
        return values

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second trainer out, and clear what a killed one left; dies with its process."""
        path = self.folder / LOCK
        try:
            make_folder(self.folder)
            self._refuse_links()
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "rb")
        except OSError as error:
            raise storage_error(path, error) from None
        with file:
            _held_locks.add(file)
            try:
                self._lock(file)
                yield
            finally:
                _held_locks.discard(file)

    def _refuse_links(self) -> None:
        """What training writes, cuts and deletes is in its folder; the folder may be a link."""
        for folder in (self.folder, self.checkpoints):
            if linked := [path for path in folder.iterdir() if path.is_symlink()]:
                raise link_error(min(linked))
            if not self.checkpoints.is_dir():
                break

    def _lock(self, file: BinaryIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{self.folder}: another process is training this run") from None
        except OSError as error:
            raise UserError(
                f"{self.folder / LOCK}: cannot be locked ({error.strerror}): "
                "--run names a folder on a disk that supports locks"
            ) from None
        for folder in (self.folder, self.checkpoints):
            try:
                recover(folder, _OURS)
            except OSError as error:
                raise storage_error(folder, error) from None

    def is_training(self) -> bool:
        """Whether a process on this machine trains it now; looking never gets in its way."""
        try:
            inode = (self.folder / LOCK).stat().st_ino
            held = Path("/proc/locks").read_text(encoding="ascii")
        except OSError:  # no lock, or no such list on this system
            return False
        return any(line.split()[-3].endswith(f":{inode}") for line in held.splitlines())

    # The log: one JSON record a line, each with a `kind` and, if it belongs to one, a `step`.

    def append_log(self, record: Mapping[str, Any]) -> None:
        """Add a line by one write and flush it: all of it or, where that fails, nothing."""
        path = self.folder / LOG
        try:
            if path.exists() and path.stat().st_size >= LOG_BYTES:
                number = max(self._log_parts(), default=0) + 1
                path.rename(self.folder / f"log-{number:06d}.jsonl")
            is_new = not path.exists()
            with path.open("a+b", buffering=0) as file:
                _append_line(file, json.dumps(record).encode())
            if is_new:
                sync_folder(self.folder)
        except OSError as error:
            raise storage_error(path, error) from None

    def _log_parts(self) -> dict[int, Path]:
        """What was put aside of the log, by number, oldest first."""
        found = (_LOG_PART.fullmatch(path.name) for path in self.folder.glob("log-*.jsonl"))
        return dict(sorted((int(match[1]), self.folder / match[0]) for match in found if match))

    def _log_files(self) -> list[Path]:
        """All of the log, oldest first."""
        newest = self.folder / LOG
        return [*self._log_parts().values()] + [newest] * newest.exists()

    def read_log(self) -> list[dict[str, Any]]:
        """All whole records; a line cut off by a crash is left out."""
        files = ((path, read_own(path, _LOG_REMEDY, LONGEST_JSON)) for path in self._log_files())
        return [record for path, content in files for record in _records(content, path)]

    def rewind_log(self, step: int) -> None:
        """Forget what was logged after `step` or at the end: a resumed run logs it again."""
        for path in reversed(self._log_files()):
            content = read_own(path, _LOG_REMEDY)
            records = [
                record for record in _records(content, path) if record["kind"] not in _AT_THE_END
            ]
            kept = [record for record in records if record.get("step", 0) <= step]
            text = "".join(json.dumps(record) + "\n" for record in kept).encode()
            if text and text == content:
                break  # and so is all before it
            if text != content and (text or path.name == LOG):
                replace_durably(path, text)
            elif text != content:
                path.unlink()

    def finished(self) -> bool:
        """Whether training came to its end: the last record says so."""
        for path in reversed(self._log_files()):
            with open_own(path, _LOG_REMEDY) as file:
                file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
                records = _records(file.read(), path)
            if records:
                return bool(records[-1]["kind"] == "end")
        return False

    # Checkpoints: numbered folders, and pointers that name one of them.

    def checkpoint_folder(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, oldest first."""
        if not self.checkpoints.is_dir():
            return []
        found = (_STEP.fullmatch(path.name) for path in self.checkpoints.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def point(self, pointer: str, folder: Path) -> None:
        """Make `best`, `latest` or `averaged` name a checkpoint."""
        replace_durably(self.checkpoints / pointer, _pointer_line(pointer, folder.name))

    def pointed(self, pointer: str) -> Path | None:
        """The checkpoint that a pointer names, if there is such a pointer."""
        path = self.checkpoints / pointer
        if not path.is_file():
            return None
        content = read_own(path, "name a checkpoint by its step", _LONGEST_POINTER)
        name = content.partition(b" ")[0].decode("ascii", "replace")
        if content != _pointer_line(pointer, name) or not _NUMBERED.fullmatch(name):
            raise DamagedError(
                f"{path}: damaged: name a checkpoint by its step; training repairs it (--resume)"
            )
        return self.checkpoints / name

    def find_checkpoint(self, name: str | None = None) -> Path:
        """By pointer, folder name or step number; by default the best to use that there is."""
        if self.checkpoints.is_symlink():
            raise link_error(self.checkpoints)
        pointers = [pointer for pointer in POINTERS if (self.checkpoints / pointer).is_file()]
        if name is None and not pointers:
            raise UserError(f"{self.folder}: has no checkpoint yet")
        name = name or self._usual(pointers)
        folder = self.pointed(name) if name in pointers else None
        if folder is None and _NUMBER.fullmatch(name):
            folder = self.checkpoint_folder(int(name))
        elif folder is None and _NUMBERED.fullmatch(name):
            folder = self.checkpoints / name
        if folder is None or not folder.is_dir():
            known = [p for p in pointers if p != name] + [str(step) for step in self.steps()]
            raise UserError(
                f"{self.folder}: no checkpoint {name!r}: choose from {', '.join(known) or 'none'}"
            )
        return folder

    def _usual(self, pointers: list[str]) -> str:
        """What commands take: the best, or an average that is preferred to it."""
        if pointers[0] == "averaged" and len(pointers) > 1:
            folder = self.pointed("averaged")
            if folder and folder.is_dir() and not read_facts(folder).get("preferred", True):
                return pointers[1]
        return pointers[0]

    def averaged_folder(self, step: int) -> Path:
        """Where an average of checkpoints up to that step is."""
        return self.checkpoints / f"averaged-{step:06d}"

    def drop_after(self, step: int) -> None:
        """Delete checkpoints beyond `step`, newest first, so that a kill leaves no gap."""
        if not self.checkpoints.is_dir():
            return
        self._mend_pointers(step)
        beyond = [path for path in self.checkpoints.iterdir() if _number(path) > step]
        for folder in sorted(beyond, key=_number, reverse=True):
            delete_checkpoint(folder)
        for older in self.steps():
            if older < step and self._is_stopgap(older):
                self.remove(older)  # as saving `step` would have done, but for a kill

    def _is_stopgap(self, step: int) -> bool:
        """Whether a checkpoint was only asked for by a signal."""
        try:
            return bool(read_facts(self.checkpoint_folder(step)).get("stopgap"))
        except DamagedError:
            return False

    def _mend_pointers(self, step: int) -> None:
        """Make pointers name what they did when `step` was the newest checkpoint."""
        newest = self.checkpoint_folder(step)
        best_step = read_facts(newest).get("best_step", 0) if newest.is_dir() else 0
        right = {"latest": newest, "best": self.checkpoint_folder(best_step)}
        for pointer in POINTERS:
            try:
                named = self.pointed(pointer)
            except DamagedError:
                named = None
            wanted = right.get(pointer, named)
            if wanted is None or not wanted.is_dir() or _number(wanted) > step:
                (self.checkpoints / pointer).unlink(missing_ok=True)
            elif wanted != named:
                self.point(pointer, wanted)

    def remove(self, step: int) -> None:
        """Delete one checkpoint, unless a pointer names it."""
        folder = self.checkpoint_folder(step)
        if folder.is_dir() and folder not in {self.pointed(pointer) for pointer in POINTERS}:
            delete_checkpoint(folder)

    def prune(self, keep_last: int) -> None:
        """Delete old checkpoints, but never one that a pointer names."""
        for step in self.steps()[:-keep_last]:
            self.remove(step)


def _signed(text: bytes) -> bytes:
    """A recipe with its digest as a last line, which is a comment to YAML."""
    return text + _DIGEST + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _pointer_line(pointer: str, name: str) -> bytes:
    """A checkpoint's name, and a digest so that no damage makes it another's."""
    digest = hashlib.sha256(f"{pointer} {name}".encode()).hexdigest()[:16]
    return f"{name} {digest}\n".encode()


def _number(folder: Path) -> int:
    """The step in a checkpoint's name; -1 for anything else."""
    match = _NUMBERED.fullmatch(folder.name)
    return int(match[1]) if match else -1


def _append_line(file: FileIO, line: bytes) -> None:
    """A line of its own at the end, even after one that a crash cut off."""
    size = file.seek(0, os.SEEK_END)
    torn = size and os.pread(file.fileno(), 1, size - 1) != b"\n"
    try:
        write_whole(file, b"\n" * bool(torn) + line + b"\n")
        os.fsync(file.fileno())  # no checkpoint may outlive what was logged before it
    except OSError:
        file.truncate(size)
        raise


def _records(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The whole records among lines of a log.

    A line that a crash cut off is left out; one of the wrong types nobody wrote by accident.
    """
    records, torn = [], 0
    for line in content.split(b"\n"):
        if not line.startswith(b"{"):
            continue
        try:
            record = parse_json(line, path)
        except DamagedError:
            torn += 1
            if torn > _MOST_TORN:
                raise DamagedError(f"{path}: damaged: it is not a log: {_LOG_REMEDY}") from None
            continue
        if isinstance(record, dict) and "kind" in record:
            if fault := _fault(record):
                raise DamagedError(f"{path}: damaged: a record with {fault}: {_LOG_REMEDY}")
            records.append(record)
    return records


def _fault(record: Mapping[str, Any]) -> str | None:
    """What a record has of the wrong type, or lacks."""
    kind = record["kind"]
    for key, value in record.items():
        if key in _TEXTS:
            right = isinstance(value, str)
        elif key in ("best", "used"):
            right = isinstance(value, bool)
        elif key == "of":
            right = isinstance(value, list)
        elif key in ("step", "seconds") or kind in _MEASURED:
            right = _is_number(value) or (isinstance(value, float) and key != "step")
        else:
            right = True
        if not right:
            return f"{key} {shortened(value)}"
    needs_step = kind in _MEASURED or "seconds" in record
    return "no step" if needs_step and "step" not in record else None


def _is_number(value: object) -> bool:
    """A whole number that can be computed with."""
    return type(value) is int and abs(value) < 1 << 63


def training_minutes(log: Iterable[Mapping[str, Any]]) -> float | None:
    """How long a run was trained, interruptions left out; None if its log does not tell."""
    seconds = [record["seconds"] for record in log if "seconds" in record]
    return max(seconds) / 60 if seconds else None
