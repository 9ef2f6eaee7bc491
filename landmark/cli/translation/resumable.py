"""Output that an interruption does not cost: a file that grows by whole lines and can go on.

While it grows it is named `.NAME.partial`, with what it is made from beside it; it gets its name
when it is whole. A later call goes on after the last whole line.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from landmark.core.errors import UserError
from landmark.core.storage import beside, read_signed, replace_durably, signed, sync_folder


class ResumableFile:
    """Records of `lines` lines each on their way to a file; `done` of them are there already."""

    def __init__(
        self, path: Path, made_from: Mapping[str, Any], resume: bool, lines: int = 1
    ) -> None:
        self.path, self.partial, self.origin = path, beside(path, "partial"), beside(path, "origin")
        self.done = 0
        if resume and not self.partial.is_file():
            raise UserError(f"{path}: there is nothing to go on with: leave out --resume")
        if not resume and self.partial.is_file():
            raise UserError(
                f"{path}: was begun and interrupted: --resume goes on, or delete {self.partial}"
            )
        if resume:
            self._compare(made_from)
            self.done = _whole_records(self.partial, lines)
        else:
            replace_durably(self.origin, signed(dict(made_from)))
        self.file: TextIO = self.partial.open("a", encoding="utf-8", newline="\n")

    def _compare(self, made_from: Mapping[str, Any]) -> None:
        """Refuse to go on with another source, model or way of translating."""
        begun = read_signed(self.origin, "delete it and begin again")
        for key, value in made_from.items():
            if begun.get(key) != value:
                raise UserError(
                    f"{self.path}: was begun with {key} {begun.get(key)!r}, not {value!r}: "
                    f"go on with that, or delete {self.partial}"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.file.close()
        if kind is None:
            self.partial.replace(self.path)
            self.origin.unlink()
            sync_folder(self.path.parent)


def _whole_records(path: Path, lines: int) -> int:
    """How many records are whole; what a kill left of another is taken away."""
    count, end, length = 0, 0, 0
    with path.open("r+b") as file:
        for line in file:
            length += len(line)
            if line.endswith(b"\n"):
                count += 1
                end = length if count % lines == 0 else end
        file.truncate(end)
    return count // lines
