"""SIGINT and SIGTERM at exact moments of a training: saved, prompt, no step lost.

Each life is a real process in a session of its own; at the chosen moment the signal goes to the
whole process group, loader workers included, as a terminal, systemd or torchrun sends it. The run
then goes on with --resume and must end equal, bit for bit, to one that was never disturbed.

    python -m benchmarks.faults.signals [--rounds 5]
"""

import argparse
import functools
import importlib
import os
import signal
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.faults.trial import SETTINGS, Life, Trial, compare

SIGNALS = (signal.SIGINT, signal.SIGTERM)
WORKERS = (0, 2)


class Moment(NamedTuple):
    """In which call, counted from 1, of which function a signal arrives."""

    module: str
    function: str
    call: int
    saved: int
    """The step that the run must stand at afterwards."""


MOMENTS = {
    "the first step": Moment("landmark.engine.trainer", "Trainer.update", 1, 1),
    "warm-up": Moment("landmark.engine.trainer", "Trainer.update", 2, 2),
    "training": Moment("landmark.engine.trainer", "Trainer.update", 5, 5),
    "validation": Moment("landmark.objectives.writing", "WritingObjective.measure", 1, 2),
    "saving": Moment("landmark.engine.checkpoint", "write_durably", 2, 2),
    "moving a pointer": Moment("landmark.engine.run", "replace_durably", 2, 2),
    "the last validation": Moment("landmark.objectives.writing", "WritingObjective.measure", 3, 6),
}
PREPARATION = Moment("landmark.data.translation.preparation", "_write", 2, 0)


def new_trial(folder: Path, workers: int) -> Trial:
    """A run of six steps, the first four of them warm-up."""
    settings = [*SETTINGS, "schedule.warmup_steps=4", f"batches.workers={workers}"]
    return Trial.create(folder, settings=settings)


class Answer(NamedTuple):
    """What a signalled process did."""

    code: int | None
    seconds: float
    said: str


class Strike(NamedTuple):
    """Send this process's group a signal in the middle of a call; twice, if `twice`."""

    moment: Moment
    number: int
    sent: Path
    twice: bool = False

    def __call__(self) -> None:
        """In the process, before it begins: get ready."""
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's `&` ignores it
        owner: Any = importlib.import_module(self.moment.module)
        *within, name = self.moment.function.split(".")
        owner = functools.reduce(getattr, within, owner)
        setattr(owner, name, self.wrap(getattr(owner, name)))

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        calls = 0

        def struck(*values: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == self.moment.call:
                self.sent.write_text(repr(time.time()))
                for _ in range(1 + self.twice):
                    os.killpg(0, self.number)
            return function(*values)

        return struck


def signalled(trial: Trial, moment: Moment, number: int, twice: bool = False) -> Answer:
    """Train, struck at a moment: how the process ended, how long after, what it said."""
    sent = trial.notes / "sent.txt"
    sent.unlink(missing_ok=True)
    strike = Strike(moment, number, sent, twice)
    life = Life(trial, trial.words("--resume"), prelude=strike)
    life.wait()
    ended = time.time()
    return Answer(life.code, ended - float(sent.read_text()), life.said)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="times for each moment and signal")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        whole = {w: new_trial(Path(scratch) / f"whole-{w}", w) for w in WORKERS}
        for trial in whole.values():
            trial.finish()
        print(f"{'moment':20} {'signals':>7} {'equal':>6} {'slowest exit':>13}")
        for name, moment in MOMENTS.items():
            answers = []
            for turn, number, workers in product(range(rounds), SIGNALS, WORKERS):
                folder = Path(scratch) / f"{name}-{turn}-{number}-{workers}"
                trial = new_trial(folder, workers)
                answers.append(signalled(trial, moment, number))
                trial.finish()
                compare(whole[workers], trial)
            slowest = max(answer.seconds for answer in answers)
            print(f"{name:20} {len(answers):7} {len(answers):6} {slowest:11.2f} s", flush=True)


if __name__ == "__main__":
    main()
