"""Where a verb's records go: stdout, or a file that survives interruptions."""

import dataclasses
import json
import os
import sys
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from landmark.core.errors import UserError
from landmark.core.storage import beside, read_signed, replace_durably, signed, sync_folder
from landmark.tasks.card import Failure, Record, Remark


class Printer:
    """Prints records as lines or JSON; remarks and warnings go to stderr."""

    def __init__(self, as_json: bool, target: TextIO | None = None) -> None:
        self.as_json, self.target = as_json, target
        self.writes_pieces = target is None and not as_json
        self._is_midline = False

    def report(self, record: Mapping[str, Any]) -> None:
        """Text that is written piece by piece, as it comes."""
        if record["kind"] == "piece" and self.writes_pieces:
            print(record["text"], end="", flush=True)
            self._is_midline = True

    def show(self, record: Record) -> None:
        for warning in record.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        if isinstance(record, Remark):
            print(record.text, file=sys.stderr)
        elif self._is_midline:  # the pieces of this record have been shown
            self._is_midline = False
            print()
        else:
            self._write(record)

    def _write(self, record: Record) -> None:
        if self.as_json:
            print(json.dumps(record.json(), ensure_ascii=False), file=self.target)
            return
        for line in record.lines():
            print(line, file=self.target)

    def skip(self, failure: Failure) -> None:
        """An input that was not processed: a warning, and an empty line in its place."""
        print(f"warning: {failure.reason}: skipped", file=sys.stderr)
        self._write(failure)

    def flush(self) -> None:
        (self.target or sys.stdout).flush()


class ResumableFile:
    """A file that grows by whole items, named `.NAME.partial` until it is finished.

    Beside it stand what it is made from, and after each block how many items it holds: a later
    call goes on after those.
    """

    def __init__(self, path: Path, made_from: Mapping[str, Any], resume: bool) -> None:
        self.path, self.partial = path, beside(path, "partial")
        self.origin, self.progress = beside(path, "origin"), beside(path, "progress")
        self.done = 0
        if resume and not self.partial.is_file():
            raise UserError(f"{path}: there is nothing to resume: leave out --resume")
        if not resume and self.partial.is_file():
            raise UserError(
                f"{path}: was interrupted: continue with --resume, or delete {self.partial}"
            )
        if resume:
            self._compare(made_from)
            self.done = self._cut_back()
        else:
            replace_durably(self.origin, signed(dict(made_from)))
        self.file: TextIO = self.partial.open("a", encoding="utf-8", newline="\n")
        self._journal = self.progress.open("a", encoding="utf-8")

    def _compare(self, made_from: Mapping[str, Any]) -> None:
        """Refuse to go on with another source, model or options."""
        begun = read_signed(self.origin, "delete it and start again")
        for key, value in made_from.items():
            if begun.get(key) != value:
                raise UserError(
                    f"{self.path}: was started with {key} {begun.get(key)!r}, not {value!r}: "
                    f"use that, or delete {self.partial}"
                )

    def _cut_back(self) -> int:
        """Take away what a kill left of an unfinished block; how many items remain."""
        size, done, end = self.partial.stat().st_size, 0, 0
        text = self.progress.read_text(encoding="utf-8") if self.progress.is_file() else ""
        for line in text.split("\n")[:-1]:  # the last is empty, or torn
            items, offset = map(int, line.split())
            if offset <= size:
                done, end = items, offset
        with self.partial.open("r+b") as file:
            file.truncate(end)
        replace_durably(self.progress, f"{done} {end}\n".encode())
        return done

    def mark(self, done: int) -> None:
        """All records of the first `done` items are written."""
        self.file.flush()
        print(done, self.file.tell(), file=self._journal, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.file.close()
        self._journal.close()
        if kind is None:
            self.partial.replace(self.path)
        elif not issubclass(kind, UserError) or self._has_text():
            return
        else:  # refused before anything was answered: there is nothing to go on with
            self.partial.unlink()
        self.origin.unlink()
        self.progress.unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def _has_text(self) -> bool:
        with self.partial.open("rb") as file:
            return any(line.strip() for line in file)


def paths_in(options: Any, without: Container[str]) -> list[Path]:
    """The files and folders that options name, but for some fields."""
    found: list[Path] = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        values = value if isinstance(value, tuple) else (value,)
        if field.name not in without:
            found += [Path(one) for one in values if _is_path(one)]
    return found


def _is_path(value: Any) -> bool:
    return isinstance(value, Path) or (isinstance(value, str) and os.path.exists(value))


def refuse_overwriting(outputs: Mapping[str, Path], inputs: Iterable[Path]) -> None:
    """Refuse an output that is a file or in a folder that is read, or another output."""
    inputs, seen = list(inputs), dict[Path, str]()
    for flag, path in outputs.items():
        place = path.resolve()
        for given in inputs if path.is_file() else []:
            if given.is_file() and path.samefile(given):
                raise UserError(f"{flag} {path}: is the input itself: name another file")
            if place.is_relative_to(given.resolve()) and _is_read(place, given.resolve()):
                raise UserError(f"{flag} {path}: is a file of the input {given}: name another")
        if place in seen:
            raise UserError(
                f"{flag} {path}: is also the output of {seen[place]}: name another file"
            )
        seen[place] = flag
        if path.is_dir():
            raise UserError(f"{flag} {path}: is a folder: name a file")
        if path.exists() and not path.is_file():  # a device would be replaced by a file
            raise UserError(
                f"{flag} {path}: is a device or a pipe: name a file, or leave out {flag}"
            )
        if not place.parent.is_dir():
            raise UserError(f"{flag} {path}: there is no folder {path.parent}")


def _is_read(place: Path, folder: Path) -> bool:
    """Whether a file in an input folder is read; of a run's folder, only what the run needs is."""
    from landmark.engine.run import LOCK, RECIPE, Run

    if not (folder / RECIPE).is_file():
        return True
    from landmark.tasks.task import task_named

    run = Run(folder)
    own = task_named(str(run.read_recipe().get("task"))).prepared
    first = place.relative_to(folder).parts[0]
    return first in (RECIPE, LOCK, run.checkpoints.name, *own) or first.endswith(".jsonl")
