"""Driving another Go program through GTP: the other side of the protocol."""

import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from landmark.core.errors import UserError

_PATIENCE = 20.0
"""Seconds that a program has to end after `quit`."""


class ProgramError(Exception):
    """The program crashed, hung up, or was too slow to answer."""


class AnswerTimeoutError(ProgramError):
    """No answer in time."""


class CommandFailed(Exception):  # noqa: N818  what the protocol calls it
    """The program answered with an error."""


class Controller:
    """A GTP program as a process. Commands go in one by one; answers have a time limit."""

    def __init__(self, command: str | Sequence[str]) -> None:
        self.words = shlex.split(command) if isinstance(command, str) else list(command)
        if not self.words:
            raise UserError("the command of a GTP program is empty")
        try:
            self._process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is ours to answer
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(f"{self.words[0]}: cannot be started: {reason}") from None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\r\n"))
        self._lines.put(None)

    def send(self, command: str, seconds: float = 60.0) -> str:
        """Send a command and return its answer without the sign."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise ProgramError(f"{self.words[0]} ended before `{command}`") from None
        lines = self._response(command, time.monotonic() + seconds)
        sign, text = lines[0][:1], [lines[0][1:].strip(), *lines[1:]]
        answer = "\n".join(text).strip()
        if sign == "?":
            raise CommandFailed(answer)
        return answer

    def _response(self, command: str, deadline: float) -> list[str]:
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AnswerTimeoutError(f"{self.words[0]} did not answer `{command}`") from None
            if line is None:
                raise ProgramError(f"{self.words[0]} ended at `{command}`")
            if lines and not line.strip():
                return lines
            if lines or line[:1] in ("=", "?"):
                lines.append(line)

    def close(self) -> None:
        """Say `quit`, wait, and end the process if it does not."""
        try:
            if self._process.poll() is None and self._process.stdin is not None:
                self._process.stdin.write("quit\n")
                self._process.stdin.close()
            self._process.wait(timeout=_PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> "Controller":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close() if error is None else self.kill()
