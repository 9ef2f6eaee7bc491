"""Whether a training of two processes comes through the death of either of them.

Trains a tiny translator under torchrun without a break; then again and again while one of its two
processes, at a random moment of starting or training, is killed (-9) and torchrun starts both anew.
All must end with the same weights, optimiser state and log, bit for bit. Prints the figures, and
exits with 1 if something differs.

    python -m benchmarks.faults.processes [--kills 50] [--steps 300] [--workers 2] [--seed 0]
"""

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.group import (
    TRANSLATOR,
    Ended,
    Torchrun,
    differences,
    kill,
    last_step,
    torchrun,
    train_words,
    wait_until,
)
from landmark.engine.run import Run


@dataclass(frozen=True)
class Kill:
    """One process killed, and both started anew."""

    rank: int
    step: int
    """The last one in the log."""
    starting: bool
    """Whether the group had not yet made a step."""
    seconds: float
    """Until torchrun had started both anew."""


def train_undisturbed(folder: Path, settings: Sequence[str]) -> float:
    """Two processes to the end; the seconds until the first step."""
    started = time.monotonic()
    with torchrun(train_words(folder, settings), folder.with_suffix(".txt")) as group:
        group.await_step(Run(folder), 1)
        seconds = time.monotonic() - started
        if group.finish():
            raise RuntimeError(group.text())
    return seconds


def kill_rank(group: Torchrun, rank: int, run: Run, begun_at: int = 0) -> Kill:
    """Kill one of the two at once, and wait until torchrun has started both anew."""
    before, step, started = group.await_ranks(), last_step(run), time.monotonic()
    kill(before[rank])
    group.await_ranks(gone=list(before.values()))
    return Kill(rank, step, step <= begun_at, time.monotonic() - started)


def train_under_kills(
    folder: Path, settings: Sequence[str], most: int, horizon: float, dice: random.Random
) -> list[Kill]:
    """One training to its end, with kills at random moments within `horizon` of each start."""
    run, kills = Run(folder), list[Kill]()
    words = train_words(folder, settings)
    with torchrun(words, folder.with_suffix(".txt"), restarts=most) as group:
        while len(kills) < most and group.process.poll() is None:
            group.await_ranks()
            begun_at = last_step(run)
            if _ends_within(group, run, dice.uniform(0, horizon)):
                break
            with suppress(Ended):  # it was quicker, in its very last moment
                kills.append(kill_rank(group, dice.randrange(2), run, begun_at))
        if group.finish():
            raise RuntimeError(group.text())
    return kills


def _ends_within(group: Torchrun, run: Run, seconds: float) -> bool:
    """Let it train for so long; whether it has come to its end meanwhile."""
    moment = time.monotonic() + seconds
    over = lambda: group.process.poll() is not None or run.finished()  # noqa: E731
    wait_until(lambda: over() or time.monotonic() > moment, "a moment", seconds + 60)
    return over()


def show(kills: Sequence[Kill], trainings: int, steps: int, differing: Sequence[str]) -> None:
    """One line on where it stands."""
    starting, slowest = sum(k.starting for k in kills), max((k.seconds for k in kills), default=0)
    print(
        f"{len(kills)} kills (rank 0: {sum(k.rank == 0 for k in kills)}, "
        f"rank 1: {sum(k.rank == 1 for k in kills)}; {starting} before the group's first step), "
        f"{len(kills)} restarts (slowest {slowest:.1f} s), {trainings} trainings, {steps} steps, "
        f"{len(differing)} differences",
        flush=True,
    )


def kill_often(folder: Path, settings: Sequence[str], most: int, seed: int) -> list[str]:
    """Train undisturbed once, then with kills as often as it takes; what differed."""
    dice, kills, differing, steps = random.Random(seed), list[Kill](), list[str](), 0
    seconds = train_undisturbed(folder / "undisturbed", settings)
    for trainings in itertools.count(1):
        if len(kills) >= most:
            break
        name = f"disturbed-{trainings}"
        left = most - len(kills)
        kills += train_under_kills(folder / name, settings, left, 1.5 * seconds, dice)
        found = differences(folder / "undisturbed", folder / name)
        differing += [f"{name}: {what}" for what in found]
        steps += last_step(Run(folder / name))
        show(kills, trainings, steps, differing)
    return differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50, help="in all")
    parser.add_argument("--steps", type=int, default=300, help="length of each training")
    parser.add_argument("--workers", type=int, default=2, help="loader processes of each rank")
    parser.add_argument("--seed", type=int, default=0, help="decides whom and when")
    options = parser.parse_args()
    settings = [*TRANSLATOR, f"trainer.max_steps={options.steps}"]
    settings.append(f"batches.workers={options.workers}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        differing = kill_often(Path(folder), settings, options.kills, options.seed)
    print("\n".join(differing) or "weights, optimiser state and log: bit-equal")
    print(f"{time.monotonic() - started:.0f} seconds")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
