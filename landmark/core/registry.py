"""The registry of everything that has a name: systems, variants, recipes."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from landmark.core.errors import UserError

Entry = TypeVar("Entry")


def nearest(name: str, known: Iterable[str]) -> str:
    """A phrase that suggests the closest known names, or lists them all when none is close."""
    names = sorted(known)
    slips = difflib.get_close_matches(name, names, n=1, cutoff=0.9)  # a slip has one right reading
    close = slips or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"choose from: {', '.join(names)}" if names else "there are none"


class Registry(Generic[Entry]):
    """Names to entries; refuses a second entry of one name, and knows near matches."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> Entry:
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise UserError(f"unknown {self.kind} {name!r}: {nearest(name, self._entries)}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterable[Entry]:
        return self._entries.values()
