"""Signals: the first SIGINT or SIGTERM ends a training after its current batch, a second at once.

A training may run inside another (in its evaluator or its source). All of them are told of a
signal, so that the inner one saves itself first and then the one around it.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_told: list[Callable[[int], None]] = []
"""Whom to tell of a signal: the trainings that run, the outermost first."""
_received: list[int] = []
"""The signal that the running trainings have received, if any."""


class InterruptedTraining(Exception):  # noqa: N818
    """A signal ended the training after a whole batch; everything is saved."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name} after step {step}, all saved")
        self.exit_code = 128 + number


@contextmanager
def signals_told(tell: Callable[[int], None]) -> Iterator[None]:
    """For the length of a `with` block, pass the first signal to `tell`.

    A training that begins inside one that was told already is told at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's: whoever has one there answers them
        return
    _told.append(tell)
    try:
        if len(_told) == 1:
            with _handlers():
                yield
        else:
            for number in _received:
                tell(number)
            yield
    finally:
        _told.pop()


@contextmanager
def _handlers() -> Iterator[None]:
    def note(number: int, frame: FrameType | None) -> None:
        _received.append(number)
        for tell in _told:
            tell(number)
        for caught, handler in previous.items():
            signal.signal(caught, handler)

    previous = {n: signal.signal(n, note) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for caught, handler in previous.items():
            signal.signal(caught, handler)
        _received.clear()
