"""Output to a terminal: control characters of names and texts are shown, not obeyed.

A file name, a run's name or a generated text may hold escape sequences, which would move the
cursor, change colours or hide text, and Unicode's overrides of direction, which show other words
than there are. On a terminal, and on stderr always, they are shown escaped (\\x1b, \\u202e). What
goes from stdout to a file or a program stays as it is.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\t"), ord("\n")}
_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SURROGATES = range(0xD800, 0xE000)  # bytes of a file's name that are not UTF-8
_SHOWN = {
    **{code: f"\\x{code:02x}" for code in _CONTROLS},
    **{code: f"\\u{code:04x}" for code in (*_DIRECTIONS, *_SURROGATES)},
}


def escaped(text: str) -> str:
    """The text with its control characters visible."""
    return text.translate(_SHOWN)


class EscapingStream:
    """A stream of text in which control characters are shown; all else is the stream's."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def plain(stream: Any) -> Any:
    """The stream itself, for rich, whose own escape sequences are meant to be obeyed."""
    return plain(stream.stream) if isinstance(stream, EscapingStream) else stream


@contextmanager
def escaping() -> Iterator[None]:
    """For the length of a `with` block, stderr is escaped, and stdout if it is a terminal."""
    before = sys.stdout, sys.stderr
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout = EscapingStream(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = EscapingStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
