"""Our program behind the protocol."""

import io
import queue
import threading
from typing import TextIO

from landmark import __version__
from landmark.go.gtp.argument import needed
from landmark.go.gtp.board_command import BoardCommands
from landmark.go.gtp.play_command import PlayCommands
from landmark.go.gtp.protocol import LONGEST_LINE, Handler, LineSource, Server
from landmark.go.gtp.session import Session

NAME = "Landmark"


def build_handlers(session: Session) -> dict[str, Handler]:
    """Every command by name."""
    handlers: dict[str, Handler] = {
        **BoardCommands(session).handlers(),
        **PlayCommands(session).handlers(),
        "protocol_version": lambda arguments: "2",
        "name": lambda arguments: NAME,
        "version": lambda arguments: __version__,
        "quit": lambda arguments: None,
        "kgs-game_over": lambda arguments: None,
        "gogui-analyze_commands": lambda arguments: "",
    }

    def list_commands(arguments: list[str]) -> str:
        return "\n".join(sorted(handlers))

    def known_command(arguments: list[str]) -> str:
        return str(needed(arguments, 1)[0] in handlers).lower()

    handlers["list_commands"] = list_commands
    handlers["known_command"] = known_command
    return handlers


class StreamLines:
    """Lines of a stream, read ahead by a thread, so that a search knows when a command waits."""

    def __init__(self, stream: TextIO) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        try:
            while line := stream.readline(LONGEST_LINE):
                self._lines.put(line)
                while len(line) == LONGEST_LINE and not line.endswith("\n"):
                    line = stream.readline(LONGEST_LINE)  # the rest is no command of its own
        except (OSError, ValueError):
            pass
        self._lines.put(None)

    def next(self) -> str | None:
        return self._lines.get()

    def is_waiting(self) -> bool:
        return not self._lines.empty()


def open_streams(lines: TextIO, output: TextIO) -> None:
    """Let no byte of a controller, and no word of an answer, end the program.

    Only line feeds end a line, as the protocol has it.
    """
    if isinstance(lines, io.TextIOWrapper):
        lines.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(encoding="utf-8", errors="replace")


def serve(session: Session, lines: LineSource, output: TextIO) -> None:
    """Answer a controller until it quits or hangs up."""
    Server(build_handlers(session), lines, output).serve()
