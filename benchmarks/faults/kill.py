"""Trainings killed (-9) at every file operation, and at random moments: all must end equal.

A tiny translator trains undisturbed; then again and again it is killed and goes on with --resume,
until it ends. Weights, optimiser state, log (times apart), pointers and the order of the data must
be those of the undisturbed run, bit for bit. Prints the figures, and exits with 1 if something
differs.

    python -m benchmarks.faults.kill [--random 100] [--seed 0] [--no-operations]
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path

from benchmarks.faults.interposer import Action, Fault, Operation
from benchmarks.faults.trial import Life, Trial, compare, leftovers
from landmark.engine.run import RECIPE

TOGETHER = 2
"""Lives at a time."""
CHAIN = 3
"""Random kills of one training, at most: the first may hit its preparation."""


@dataclass
class Figures:
    """What has happened so far."""

    kills: Counter[str] = field(default_factory=Counter)
    """By what they hit."""
    operations: int = 0
    equal: int = 0
    differing: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def judge(self, whole: Trial, trial: Trial, last: Life, what: str) -> None:
        """Compare a training whose last life has gone on to the end with the undisturbed one."""
        try:
            last.wait()
            last.check()
            compare(whole, trial)
            assert not leftovers(trial.run), f"left behind: {leftovers(trial.run)}"
        except AssertionError as difference:
            self.differing.append(f"killed {what}: {difference}")
        else:
            self.equal += 1
        shutil.rmtree(trial.notes)

    def __str__(self) -> str:
        hits = ", ".join(f"{count} in {phase}" for phase, count in sorted(self.kills.items()))
        places = f"{self.operations} operations, " if self.operations else ""
        return (
            f"{places}{self.kills.total()} kills ({hits}); {self.equal} trainings ended equal, "
            f"{len(self.differing)} did not; {time.monotonic() - self.began:.0f} s"
        )


def train_undisturbed(folder: Path) -> Trial:
    """The run that all others must equal."""
    trial = Trial.create(folder)
    trial.live().check()
    return trial


def train_half(folder: Path, whole: Trial) -> Trial:
    """A run killed while it wrote its last checkpoint: in what is left to do, everything occurs."""
    trial, place = whole.anew(folder), find(whole.operations, "write", ".step-000006.partial")
    life = trial.live(fault=Fault(Action.KILL_AMID, place.number))
    assert life.was_killed, life.said
    return trial


def find(operations: Sequence[Operation], kind: str, folder: str) -> Operation:
    """The second operation of a kind on a file in a folder."""
    found = (one for one in operations if one.kind == kind and one.path.parent.name == folder)
    return next(islice(found, 1, None))


def moments(operations: Sequence[Operation], thorough: bool) -> list[tuple[Fault, str]]:
    """Before each operation, amid each write and, to be `thorough`, after each.

    Nothing happens in the folder from the end of one operation to the beginning of the next: after
    one is before the next.
    """
    found = []
    for operation in operations:
        actions = [Action.KILL_BEFORE]
        if operation.kind == "write":
            actions.append(Action.KILL_AMID)
        if thorough or operation is operations[-1]:
            actions.append(Action.KILL_AFTER)
        for action in actions:
            when = action.name.removeprefix("KILL_").lower()
            found.append((Fault(action, operation.number), f"{when} {operation}"))
    return found


def before_saving(operations: Sequence[Operation]) -> list[Operation]:
    """What a training does before its first checkpoint."""
    return list(takewhile(lambda one: not one.path.name.startswith(".step-"), operations))


def on_step_5(operations: Sequence[Operation]) -> list[Operation]:
    """What a training does to the checkpoint of step 5."""
    return [one for one in operations if "step-000005" in str(one.path)]


def kill_at_operations(
    folder: Path,
    start: Trial,
    whole: Trial,
    words: Sequence[str] = (),
    choose: Callable[[list[Operation]], list[Operation]] = list,
    thorough: bool = False,
    every: int = 1,
) -> Figures:
    """Kill a training that goes on from `start` at each of the operations that it makes.

    every: only at every n-th of these moments.
    """
    probe, figures = start.copy(folder / "probe"), Figures()
    probe.live(*words).check()
    operations = choose(probe.operations)
    figures.operations = len(operations)
    found = moments(operations, thorough)[::every]
    for place in range(0, len(found), TOGETHER):
        struck = []
        for fault, what in found[place : place + TOGETHER]:
            trial = start.copy(folder / what.replace(" ", "-").replace("/", "-"))
            struck.append((trial, trial.begin(*words, fault=fault), what))
        resumed = []
        for trial, life, what in struck:
            life.wait()
            assert life.was_killed, f"{what}: not killed, but {life.code}: {life.said}"
            figures.kills[phase(trial, len(start.diary))] += 1
            resumed.append((trial, trial.begin("--resume"), what))
        for trial, life, what in resumed:
            figures.judge(whole, trial, life, what)
    return figures


def phase(trial: Trial, lines_before: int) -> str:
    """What a life did when it was killed; its diary begins after so many lines."""
    new = trial.diary[lines_before:]
    if not (trial.run.folder / RECIPE).exists():
        return "preparation"
    if not new:
        return "starting"
    return "saving" if new[-1] == "saving" else "training"


def kill_at_random(folder: Path, whole: Trial, count: int, seed: int) -> Figures:
    """Kill trainings at random moments of preparing, training, saving and going on."""
    figures, dice = Figures(), random.Random(seed)
    seconds = [_seconds(folder / "timing", whole, words) for words in ([], ["--resume"])]
    number = 0
    while figures.kills.total() < count:
        trial = whole.anew(folder / f"random-{number}")
        number, kills = number + 1, 0
        while figures.kills.total() < count and kills < CHAIN:
            before = len(trial.diary)
            life = trial.begin(*["--resume"] * bool(kills))
            if life.wait(dice.uniform(0, seconds[bool(kills)])) is not None:
                break
            life.kill()
            if not life.was_killed:  # it was quicker
                break
            kills += 1
            figures.kills[phase(trial, before)] += 1
        figures.judge(whole, trial, trial.begin("--resume"), f"{kills} times")
    return figures


def _seconds(folder: Path, whole: Trial, words: Sequence[str]) -> float:
    """How long a training takes here from the beginning, or from its middle on; the best of two."""
    measured = []
    for _ in range(2):
        trial = train_half(folder, whole) if words else whole.anew(folder)
        began = time.monotonic()
        trial.live(*words).check()
        measured.append(time.monotonic() - began)
        shutil.rmtree(folder)
    return min(measured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", type=int, default=100, help="kills at random moments")
    parser.add_argument("--seed", type=int, default=0, help="decides when")
    parser.add_argument("--no-operations", action="store_true", help="random moments only")
    options, differing = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = train_undisturbed(folder / "whole")
        starts = {
            "a whole training": (Trial.create(folder / "new"), []),
            "going on from a killed save": (train_half(folder / "half", whole), ["--resume"]),
            "going back to step 4": (whole.copy(folder / "back"), ["--resume", "4"]),
        }
        for number, (what, (start, words)) in enumerate(starts.items()):
            if not options.no_operations:
                place = folder / f"operations-{number}"
                figures = kill_at_operations(place, start, whole, words, thorough=True)
                print(f"{what}: {figures}", flush=True)
                differing += figures.differing
        figures = kill_at_random(folder / "random", whole, options.random, options.seed)
        print(f"random moments: {figures}")
    print("\n".join(differing + figures.differing) or "all equal, bit for bit")
    sys.exit(1 if differing + figures.differing else 0)


if __name__ == "__main__":
    main()
