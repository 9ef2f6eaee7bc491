"""The protocol itself: lines in, responses out. What commands do is the program's.

Farnebäck 2002, "Specification of the Go Text Protocol, version 2, draft 2".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TextIO

from landmark.core.errors import UserError

LONGEST_LINE = 100_000
"""Characters of a command line that are read."""
_DELETED = dict.fromkeys((*range(9), *range(10, 32), 127))


class GtpError(Exception):
    """A command that fails: its text is the error response."""


class Command(NamedTuple):
    """One line of a controller."""

    id: str
    """Digits, or empty."""
    name: str
    arguments: list[str]


def parse_command(line: str) -> Command | None:
    """Read a line as the specification's section 2.3 says; None: there is no command in it."""
    line = line[:LONGEST_LINE].translate(_DELETED).replace("\t", " ").partition("#")[0]
    words = line.split()
    if not words:
        return None
    has_id = words[0].isascii() and words[0].isdigit()
    number = words.pop(0) if has_id else ""
    return Command(number, words[0] if words else "", words[1:])


def response(command: Command, text: str, succeeds: bool = True) -> str:
    """A response: a sign, the command's id, text without empty lines, an empty line."""
    body = "\n".join(line for line in text.splitlines() if line.strip())
    head = ("=" if succeeds else "?") + command.id
    return f"{head} {body}\n\n" if body else f"{head}\n\n"


class Streaming(Protocol):
    """A response that goes on until the next command comes."""

    def run(self, write: Callable[[str], None], should_stop: Callable[[], bool]) -> None:
        """Write lines until told to stop."""


Handler = Callable[[list[str]], "str | Streaming | None"]


class Server:
    """Answers the lines of a controller until `quit` or the end of the input."""

    def __init__(
        self, handlers: Mapping[str, Handler], lines: "LineSource", output: TextIO
    ) -> None:
        self.handlers, self.lines, self.output = handlers, lines, output

    def serve(self) -> None:
        """Answer until `quit`, the end of the input, or an output that is closed."""
        try:
            while (line := self.lines.next()) is not None:
                command = parse_command(line)
                if command is not None and not self.answer(command):
                    return
        except BrokenPipeError:
            return

    def answer(self, command: Command) -> bool:
        """Answer one command; False after `quit`."""
        handler = self.handlers.get(command.name)
        if handler is None:
            self._write(response(command, "unknown command", succeeds=False))
            return True
        try:
            result = handler(command.arguments)
        except (GtpError, UserError) as error:
            self._write(response(command, str(error), succeeds=False))
            return True
        if result is None or isinstance(result, str):
            self._write(response(command, result or ""))
        else:
            self._write(f"={command.id}\n")
            result.run(self._write, self.lines.is_waiting)
            self._write("\n")
        return command.name != "quit"

    def _write(self, text: str) -> None:
        self.output.write(text)
        self.output.flush()


class LineSource(Protocol):
    """Where commands come from."""

    def next(self) -> str | None:
        """The next line, waiting for it; None: there will be none."""

    def is_waiting(self) -> bool:
        """Whether a line, or the end, is there already."""


class ListedLines:
    """Lines that are all there from the beginning."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = list(lines)
        self._done = 0

    def next(self) -> str | None:
        self._done += 1
        return self._lines[self._done - 1] if self._done <= len(self._lines) else None

    def is_waiting(self) -> bool:
        return True
