"""The run directory: recipe, log, checkpoints and whatever is needed to use the model elsewhere."""

import fcntl
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from landmark.core.errors import UserError
from landmark.engine.checkpoint import replace_durably

RECIPE, LOG, LOCK = "recipe.yaml", "log.jsonl", "lock"
POINTERS = ("averaged", "best", "latest")
_STEP = re.compile(r"step-(\d{6,})")
_NUMBERED = re.compile(r"(?:step|averaged)-(\d{6,})")
_UNFINISHED = re.compile(r"\.(?:step|averaged)-\d{6,}\.(?:partial|replaced)")  # left by a kill


class Run:
    """One training's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """An existing run; anything else is the user's mistake."""
        if not folder.exists():
            raise UserError(
                f"{folder}: there is no such run; `landmark runs` lists those there are"
            )
        if not (folder / RECIPE).is_file():
            raise UserError(f"{folder}: is not a run: it has no {RECIPE}")
        return cls(folder)

    def write_recipe(self, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_durably(self.folder / RECIPE, text.encode())

    def read_recipe(self) -> dict[str, Any]:
        """The resolved configuration as plain values, `environment` and `identity` included."""
        try:
            values = yaml.safe_load((self.folder / RECIPE).read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError):
            raise UserError(f"{self.folder / RECIPE}: damaged: not valid YAML") from None
        if not isinstance(values, dict):
            raise UserError(f"{self.folder / RECIPE}: damaged: no configuration in it")
        return values

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second trainer out; the lock dies with its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(f"{self.folder}: another process is training this run") from None
            yield

    # The log: one JSON record a line, each with a `kind` and, if it belongs to one, a `step`.

    def append_log(self, record: Mapping[str, Any]) -> None:
        with (self.folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def read_log(self) -> list[dict[str, Any]]:
        """All whole records; a last line cut off by a crash is left out."""
        records = []
        path = self.folder / LOG
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and "kind" in record:
                records.append(record)
        return records

    def rewind_log(self, step: int) -> None:
        """Forget what was logged after `step`, and any end: a resumed run will log it again."""
        records = [record for record in self.read_log() if record["kind"] != "end"]
        kept = [record for record in records if record.get("step", 0) <= step]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        replace_durably(self.folder / LOG, text.encode())

    def finished(self) -> bool:
        """Whether training came to its end."""
        records = self.read_log()
        return bool(records) and records[-1]["kind"] == "end"

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
        replace_durably(self.checkpoints / pointer, f"{folder.name}\n".encode())

    def pointed(self, pointer: str) -> Path | None:
        path = self.checkpoints / pointer
        return self.checkpoints / path.read_text().strip() if path.is_file() else None

    def find_checkpoint(self, name: str | None = None) -> Path:
        """By pointer, folder name or step number; by default the best to use that there is."""
        if name is None:
            found = [folder for pointer in POINTERS if (folder := self.pointed(pointer))]
            if not found:
                raise UserError(f"{self.folder}: has no checkpoint yet")
            return found[0]
        folder = self.pointed(name) if name in POINTERS else None
        if folder is None:
            folder = (
                self.checkpoint_folder(int(name)) if name.isdigit() else self.checkpoints / name
            )
        if not folder.is_dir():
            known = [p for p in POINTERS if self.pointed(p)] + [str(step) for step in self.steps()]
            raise UserError(
                f"{self.folder}: no checkpoint {name!r}: choose from {', '.join(known) or 'none'}"
            )
        return folder

    def drop_after(self, step: int) -> None:
        """Delete checkpoints beyond `step`, which a run that goes on leaves behind, and halves."""
        if not self.checkpoints.is_dir():
            return
        for folder in self.checkpoints.iterdir():
            numbered, unfinished = (
                _NUMBERED.fullmatch(folder.name),
                _UNFINISHED.fullmatch(folder.name),
            )
            if unfinished or (numbered and int(numbered[1]) > step):
                shutil.rmtree(folder, ignore_errors=True)
        for pointer in POINTERS:
            named = self.pointed(pointer)
            if named and not named.is_dir():
                (self.checkpoints / pointer).unlink()
        if step in self.steps():
            self.point("latest", self.checkpoint_folder(step))

    def remove(self, step: int) -> None:
        """Delete one checkpoint, unless a pointer names it."""
        folder = self.checkpoint_folder(step)
        if folder not in {self.pointed(pointer) for pointer in POINTERS}:
            shutil.rmtree(folder, ignore_errors=True)

    def prune(self, keep_last: int) -> None:
        """Delete old checkpoints, but never one that a pointer names."""
        named = {self.pointed(pointer) for pointer in POINTERS}
        for step in self.steps()[:-keep_last]:
            folder = self.checkpoint_folder(step)
            if folder not in named:
                shutil.rmtree(folder)
