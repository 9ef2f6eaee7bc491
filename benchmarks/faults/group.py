"""A training under torchrun, seen from outside: its processes, what they say, what they leave."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import torch

from landmark.engine.checkpoint import load_tensors, read_facts
from landmark.engine.run import Run

ROOT = Path(__file__).parents[2]
Found = TypeVar("Found")
PATIENCE = 300.0
"""Seconds to wait for what takes a few of them, on a machine that does much else meanwhile."""
RECIPE = "transformer-embedded"
TRANSLATOR = [
    "data.train_pairs=100", "data.valid_pairs=21", "tokenizer.vocab_size=500",
    "model.hidden_size=16", "model.inner_size=32", "model.num_heads=2", "model.encoder_layers=1",
    "model.decoder_layers=1", "model.dropout=0.1", "model.max_length=64", "batches.tokens=200",
    "schedule.name=inverse-sqrt", "schedule.warmup_steps=10", "trainer.validate_every=10",
    "trainer.checkpoint_every=4", "trainer.keep_last=2", "trainer.log_every=1", "threads=1",
]  # fmt: skip


class Ended(Exception):  # noqa: N818
    """torchrun has ended before what was waited for."""


class Torchrun:
    """torchrun and the processes it has started, seen from outside."""

    def __init__(
        self,
        words: Sequence[object],
        output: Path,
        *,
        restarts: int = 0,
        layout: Sequence[str] = ("--standalone", "--nproc-per-node=2"),
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        launcher = [*before, sys.executable, "-m", "torch.distributed.run", *layout]
        command = [*launcher, f"--max-restarts={restarts}", "-m", *map(str, words)]
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        variables["PYTHONFAULTHANDLER"] = "1"  # lets `stacks` ask where a process stands
        self.output = output
        with output.open("ab") as file:
            self.process = subprocess.Popen(
                command, stdout=file, stderr=file, env={**variables, **(environment or {})}
            )

    def ranks(self) -> dict[int, int]:
        """The process id of each rank that is alive."""
        found = {}
        for child in children(self.process.pid):
            environment = _environment(child)
            if "RANK" in environment and is_alive(child):
                found[int(environment["RANK"])] = child
        return found

    def both(self) -> dict[int, int] | None:
        """The two ranks, once they are there."""
        ranks = self.ranks()
        return ranks if len(ranks) == 2 else None

    def await_ranks(self, gone: Sequence[int] = ()) -> dict[int, int]:
        """Both ranks' process ids, once no one of those `gone` is left and new ones have begun."""
        return self.await_condition(
            lambda: (
                ranks if (ranks := self.both()) and not set(ranks.values()) & set(gone) else None
            ),
            "two processes",
        )

    def await_step(self, run: Run, step: int) -> None:
        """Return as soon as the log tells of this step."""
        self.await_condition(lambda: last_step(run) >= step, f"step {step}")

    def await_condition(
        self, condition: Callable[[], Found], what: str, seconds: float = PATIENCE
    ) -> Found:
        """What the condition gives once it is true; an error if torchrun ends before."""

        def check() -> Found:
            over = self.process.poll() is not None  # before looking: its last deed counts
            found = condition()
            if not found and over:
                raise Ended(f"no {what}, torchrun has ended:\n{self.text()}")
            return found

        try:
            return wait_until(check, what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; all that was said:\n{self.stacks()}") from None

    def finish(self, seconds: float = PATIENCE) -> int:
        """Wait for the end; the exit code."""
        self.await_condition(lambda: self.process.poll() is not None, "the end", seconds)
        return self.process.wait()

    def stacks(self) -> str:
        """End all processes; what they have said, and where each of them stood."""
        processes = [self.process.pid, *descendants(self.process.pid)]
        for process in processes:
            kill(process, signal.SIGSTOP)  # so that no one answers the others' ends
        for process in reversed(processes):
            kill(process, signal.SIGABRT)
            kill(process, signal.SIGCONT)
            with suppress(TimeoutError):
                wait_until(lambda: not is_alive(process), "its end", 10)  # noqa: B023
        return self.text()

    def text(self) -> str:
        """What all of them have said so far."""
        return self.output.read_text(errors="replace")

    def complaints(self) -> list[str]:
        """The lines in which landmark says why it ended."""
        return [line for line in self.text().splitlines() if line.startswith("landmark: ")]

    def frames(self) -> list[str]:
        """Lines of ours in tracebacks: there should be none."""
        return re.findall(rf'File "{re.escape(str(ROOT))}/landmark/.*', self.text())


@contextmanager
def torchrun(words: Sequence[object], output: Path, **options: Any) -> Iterator[Torchrun]:
    """A torchrun that does not outlive the block, nor do its processes."""
    started = Torchrun(words, output, **options)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            for process in [*started.ranks().values(), started.process.pid]:
                kill(process)
            started.process.wait()


def train_words(folder: Path, settings: Sequence[str], *extra: str) -> list[str]:
    """`landmark train` as torchrun takes it (`--run` would be its own)."""
    return ["landmark", "train", RECIPE, *settings, "--run-directory", str(folder), *extra]


def wait_until(condition: Callable[[], Found], what: str, seconds: float = PATIENCE) -> Found:
    """What the condition gives as soon as it is true; an error if that takes too long."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} seconds for {what}")
        time.sleep(0.01)
    return found


def children(process: int) -> list[int]:
    """The process ids of all that a process has started."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(word) for word in _read(path).split()]
    return found


def descendants(process: int) -> list[int]:
    """The process ids of all that a process has started, and of what those have."""
    started = children(process)
    return started + [other for child in started for other in descendants(child)]


def is_alive(process: int) -> bool:
    """Whether a process exists and has not ended."""
    stat = _read(Path(f"/proc/{process}/stat"))
    return stat != "" and stat.rpartition(")")[2].split()[0] not in "ZX"


def kill(process: int, number: int = signal.SIGKILL) -> None:
    """Send a signal, unless the process is no more."""
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _environment(process: int) -> dict[str, str]:
    entries = _read(Path(f"/proc/{process}/environ")).split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _read(path: Path) -> str:
    """A file of /proc; nothing if its process has ended meanwhile."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def last_step(run: Run) -> int:
    """The last step that the log tells of."""
    return max((record.get("step", 0) for record in run.read_log()), default=0)


def differences(one: Path, two: Path) -> list[str]:
    """What two finished runs differ in, times apart: tensors, facts, log; nothing if bit-equal."""
    first, second = Run(one).find_checkpoint("latest"), Run(two).find_checkpoint("latest")
    if first.name != second.name:
        return [f"{first.name} and {second.name}"]
    found = []
    for file in sorted({path.name for path in (*first.glob("*.s*"), *second.glob("*.s*"))}):
        mine, theirs = load_tensors(first, file), load_tensors(second, file)
        found += [f"{file}: {name}" for name in mine.keys() ^ theirs.keys()]
        shared = mine.keys() & theirs.keys()
        found += [f"{file}: {name}" for name in shared if not torch.equal(mine[name], theirs[name])]
    facts = [
        {k: v for k, v in read_facts(f).items() if "seconds" not in k} for f in (first, second)
    ]
    logs = [
        [{k: v for k, v in record.items() if "second" not in k} for record in Run(run).read_log()]
        for run in (one, two)
    ]
    return found + ["facts"] * (facts[0] != facts[1]) + ["log"] * (logs[0] != logs[1])
