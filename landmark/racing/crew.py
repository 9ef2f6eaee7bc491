"""The crew of a race: processes that run its legs side by side, each on as many threads.

They stand in groups of their own, so that Ctrl-C reaches the race alone, which then tells them: a
leg under way saves itself and can be gone on with. If the race is killed, they end as well.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import set_threads
from landmark.engine.interruption import InterruptedTraining
from landmark.racing.leg import Leg, run_leg

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
_PATIENCE = 60.0  # seconds for an interrupted leg to be saved

Next = Callable[[], Leg | None]
"""The next leg; None if there is none before one of those under way has finished."""
Finished = Callable[[Leg], None]


def run_legs(next_leg: Next, finished: Finished, jobs: int, threads: int = 1) -> None:
    """Run legs until there are no more, `jobs` at a time; one at a time in this very process."""
    if jobs > 1:
        with _Crew(jobs, threads).working() as crew:
            crew.run(next_leg, finished)
        return
    usual = set_threads(None)
    set_threads(threads)
    try:
        while leg := next_leg():
            run_leg(leg)
            finished(leg)
    finally:
        set_threads(usual)


class _Crew:
    def __init__(self, jobs: int, threads: int) -> None:
        self.jobs, self.threads = jobs, threads
        self.members: dict[Connection, Any] = {}
        self.busy: dict[Connection, Leg] = {}

    @contextmanager
    def working(self) -> Iterator["_Crew"]:
        """For the length of a `with` block; whatever ends it, legs under way are saved."""
        context = multiprocessing.get_context("spawn")
        try:
            for _ in range(self.jobs):
                ours, theirs = context.Pipe()
                member = context.Process(target=_work, args=(theirs, self.threads))
                member.start()
                theirs.close()
                self.members[ours] = member
            yield self
            for connection in self.members:
                connection.send(None)
        except BaseException:
            for member in self.members.values():
                member.terminate()
            raise
        finally:
            self._dismiss()

    def _dismiss(self) -> None:
        try:
            for member in self.members.values():
                member.join(_PATIENCE)
        finally:
            for member in self.members.values():
                member.kill()

    def run(self, next_leg: Next, finished: Finished) -> None:
        while True:
            for connection in self.members:
                if connection not in self.busy and (leg := next_leg()):
                    connection.send(leg)
                    self.busy[connection] = leg
            if not self.busy:
                return
            for answered in wait(list(self.busy)):
                assert isinstance(answered, Connection)
                leg = self.busy.pop(answered)
                self._check(answered, leg)
                finished(leg)

    def _check(self, connection: Connection, leg: Leg) -> None:
        """How a leg ended; anything but well is an error of the race."""
        try:
            fault = connection.recv()
        except (EOFError, OSError):
            raise TrainingError(
                f"{leg.name}: its process has ended (out of memory?): --resume goes on"
            ) from None
        if fault is not None:
            raise fault


def _work(connection: Connection, threads: int) -> None:
    """Run the legs that come, until none does."""
    os.setpgrp()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    set_threads(threads)
    while leg := connection.recv():
        try:
            run_leg(leg)
        except InterruptedTraining:
            return  # saved; the race that sent the signal waits for no answer
        except UserError as error:
            connection.send(type(error)(str(error)))
        else:
            connection.send(None)
