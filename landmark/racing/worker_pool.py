"""The worker pool of a race: processes that run its trials in parallel.

They stand in groups of their own, so that Ctrl-C reaches the race alone, which then tells them: a
trial under way saves itself and can be gone on with. If the race is killed, they end as well.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import set_threads
from landmark.engine.interruption import InterruptedTraining
from landmark.racing.trial import Trial, run_trial

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
_PATIENCE = 60.0  # seconds for an interrupted trial to be saved

Next = Callable[[], Trial | None]
"""The next trial; None if there is none before one of those under way has finished."""
Finished = Callable[[Trial], None]


def run_trials(next_trial: Next, finished: Finished, jobs: int, threads: int = 1) -> None:
    """Run trials until there are no more, `jobs` at a time; one at a time in this very process."""
    if jobs > 1:
        with _WorkerPool(jobs, threads).working() as pool:
            pool.run(next_trial, finished)
        return
    usual = set_threads(None)
    set_threads(threads)
    try:
        while trial := next_trial():
            run_trial(trial)
            finished(trial)
    finally:
        set_threads(usual)


class _WorkerPool:
    def __init__(self, jobs: int, threads: int) -> None:
        self.jobs, self.threads = jobs, threads
        self.members: dict[Connection, Any] = {}
        self.busy: dict[Connection, Trial] = {}

    @contextmanager
    def working(self) -> Iterator["_WorkerPool"]:
        """For the length of a `with` block; whatever ends it, trials under way are saved."""
        context = multiprocessing.get_context("spawn")
        try:
            with _interrupts_blocked():
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

    def run(self, next_trial: Next, finished: Finished) -> None:
        while True:
            for connection in self.members:
                if connection not in self.busy and (trial := next_trial()):
                    connection.send(trial)
                    self.busy[connection] = trial
            if not self.busy:
                return
            for answered in wait(list(self.busy)):
                assert isinstance(answered, Connection)
                trial = self.busy.pop(answered)
                self._check(answered, trial)
                finished(trial)

    def _check(self, connection: Connection, trial: Trial) -> None:
        """How a trial ended; anything but well is an error of the race."""
        try:
            fault = connection.recv()
        except (EOFError, OSError):
            raise TrainingError(
                f"{trial.name}: its process ended (out of memory?): continue with --resume"
            ) from None
        if fault is not None:
            raise fault


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes that start within the block never see Ctrl-C, not even while they import."""
    resource_tracker.ensure_running()  # it would end the blocking
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _work(connection: Connection, threads: int) -> None:
    """Run the trials that come, until none does."""
    os.setpgrp()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    set_threads(threads)
    while trial := connection.recv():
        try:
            run_trial(trial)
        except InterruptedTraining:
            return  # saved; the race that sent the signal waits for no answer
        except UserError as error:
            connection.send(type(error)(str(error)))
        except BaseException as error:  # reported by the race, which alone talks to the user
            crash = RuntimeError(f"{trial.name}: {type(error).__name__}: {error}")
            crash.add_note(traceback.format_exc())
            connection.send(crash)
        else:
            connection.send(None)
