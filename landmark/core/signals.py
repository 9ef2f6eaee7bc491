"""SIGINT and SIGTERM from the command's first line on: one line on stderr, and 130 or 143.

Before a command works on something, and after it has ended, a signal ends the process at once.
While it works, a signal is an exception (KeyboardInterrupt or Terminated), so that what was begun
is tidied up. No exception may cut an import short: numpy cannot be imported again after that, and
C++ code aborts. As long as torch is not imported nothing was begun, and the process ends at once;
after that the signal waits until the import is done.
"""

import atexit
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

_SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_IMPORTING = "<frozen importlib._bootstrap>"
_AGAIN = 0.02  # seconds until a signal that could not be answered comes again
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
_process = os.getpid()


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is answered as Ctrl-C is: what was begun is tidied up on the way out."""


def is_command() -> bool:
    """Whether this process is `landmark` or `python -m landmark`, and no program that imports us.

    Known from the first import on, unlike `__main__`.
    """
    words, given = sys.orig_argv, sys.argv  # given: the words from the program's name on
    name = words[-len(given)] if len(given) < len(words) else ""
    return os.path.basename(name) == "landmark"


def follow_parent(number: int = 0) -> None:
    """In a process that works for another: leave signals to the parent, and die with it.

    A signal to the whole group is the parent's to answer, which still needs the work under way. But
    a process that outlives its parent would hold its connections, and whoever waits at their other
    end would not notice that it is dead. `number` is not used: so a DataLoader may call it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)


def end_at_once(number: int, frame: FrameType | None = None) -> NoReturn:
    """End the process as it stands, with one line; a process forked from it ends without one."""
    if os.getpid() == _process:
        with suppress(OSError):
            os.write(2, f"landmark: {_SAID[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)


def end_quietly(code: int) -> None:
    """From now on a signal ends the process with the code that its last line was said for."""
    _answer(lambda number, frame: os._exit(code))


def answer_at_once() -> None:
    """From now on a signal ends the process; while Python itself shuts down, it is ignored."""
    if signal.getsignal(signal.SIGTERM) is not end_at_once:
        atexit.register(_answer, signal.SIG_IGN)  # registered first, it is called last
    _answer(end_at_once)


def _answer(handler: object) -> dict[int, object]:
    """Set the handler of both signals, unless the caller ignores them, as nohup's shell does."""
    previous: dict[int, object] = {}
    for number in _SAID:
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(ValueError):  # not the main thread: signals are not ours to answer
                previous[number] = signal.signal(number, handler)  # type: ignore[arg-type]
    return previous


@contextmanager
def signals_raised() -> Iterator[None]:
    """For the length of a `with` block, a signal raises KeyboardInterrupt or Terminated."""
    came: int = signal.SIGINT
    process = os.getpid()

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = number
        if os.getpid() != process:  # just forked from this one: the line is its parent's to say
            os._exit(128 + number)
        if not _is_importing(frame):
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if not _has_torch():
            end_at_once(number)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    def answer_again(alarm: int, frame: FrameType | None) -> None:
        signal.raise_signal(came)  # a training may have begun, which answers it in another way

    def raise_again(lost: "sys.UnraisableHookArgs") -> None:
        """Where a callback swallowed the exception (import has such), it is raised later."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook(lost)

    previous = _answer(answer)
    if not previous:
        yield
        return
    previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, answer_again)
    hook, sys.unraisablehook = sys.unraisablehook, raise_again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the main thread stands in an import."""
    while frame and frame.f_code.co_filename != _IMPORTING:
        frame = frame.f_back
    return frame is not None


def _has_torch() -> bool:
    """Whether torch has been imported, whole."""
    specification = getattr(sys.modules.get("torch"), "__spec__", None)
    return specification is not None and not getattr(specification, "_initializing", False)
