"""Whether a long training stays as it is: memory, open files and checkpoints on the disk.

Trains a tiny model in this process, saving and validating every 50 steps, and looks at the process
from within. After a while in which everything is used for the first time, memory (of the loader's
workers too) may grow by less than a bound and open files not at all; the checkpoints are never more
than the last ones and those that a pointer names. Memory goes up and down by a megabyte or two as
the allocator keeps and returns pages, so its lowest values in the first and the second half are
compared: a leak raises the lowest, too. Prints a table, and exits with 1 if something grew.
`--leak` breaks it on purpose, to show that it would be noticed.

    python -m benchmarks.faults.long_run [--recipe gan] [--steps 2000] [--settle 500] [--workers 2]
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.data.loader import Loader, Place
from landmark.engine.run import POINTERS, Run
from landmark.tasks.training import train

EVERY, KEEP_LAST = 100, 2
BOUND = 1.5
"""Megabytes that memory may grow by once it has settled; sound runs show 0.1 to 0.5."""
RECIPES = {
    "translator": [
        "data.train_pairs=300", "data.valid_pairs=20", "tokenizer.vocab_size=500",
        "model.hidden_size=16", "model.inner_size=32", "model.num_heads=2",
        "model.encoder_layers=1", "model.decoder_layers=1", "model.dropout=0.1",
        "model.max_length=64", "batches.tokens=200",
    ],
    "gan": [],
}  # fmt: skip
NAMES = {"translator": "transformer-embedded", "gan": "gan-gaussian"}


@dataclass(frozen=True)
class Sample:
    """What the process held at a step."""

    step: int
    megabytes: float
    workers_megabytes: float
    descriptors: int
    """The fewest since the sample before: batches on their way from workers hold some."""
    checkpoints: int
    """The most since the sample before."""
    surplus: int
    """The most checkpoints that neither are among the last nor have a pointer."""
    seconds: float


class Watch:
    """Called with every record of a training; samples the process every so many steps."""

    def __init__(self, run: Run, show: Callable[[Sample], None]) -> None:
        self.run, self.show, self.samples = run, show, list[Sample]()
        self.started = time.perf_counter()
        self.descriptors, self.checkpoints, self.surplus = sys.maxsize, 0, 0

    def __call__(self, record: Mapping[str, Any]) -> None:
        if record["kind"] not in ("step", "train"):
            return
        there, surplus = checkpoints(self.run)
        self.descriptors = min(self.descriptors, len(os.listdir("/proc/self/fd")))
        self.checkpoints = max(self.checkpoints, there)
        self.surplus = max(self.surplus, surplus)
        if record["step"] % EVERY == 0:
            self._sample(record["step"])

    def _sample(self, step: int) -> None:
        gc.collect()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        sample = Sample(
            step,
            megabytes("self"),
            sum(megabytes(child) for child in children),
            self.descriptors,
            self.checkpoints,
            self.surplus,
            time.perf_counter() - self.started,
        )
        self.samples.append(sample)
        self.show(sample)
        self.descriptors, self.checkpoints, self.surplus = sys.maxsize, 0, 0


def megabytes(process: str) -> float:
    """The memory of a process that is in RAM."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def checkpoints(run: Run) -> tuple[int, int]:
    """How many folders there are, and how many of them have no reason to be."""
    folders = {path for path in run.checkpoints.glob("*") if path.is_dir()}
    last = {run.checkpoint_folder(step) for step in run.steps()[-KEEP_LAST:]}
    named = {run.pointed(pointer) for pointer in POINTERS}
    return len(folders), len(folders - last - named)


def judge(samples: Sequence[Sample], settle: int) -> list[str]:
    """What grew from step `settle` on; nothing, if all is well."""
    settled = [sample for sample in samples if sample.step >= settle]
    half = len(settled) // 2
    first, faults = settled[0], []
    for what in ("megabytes", "workers_megabytes"):
        held = [getattr(sample, what) for sample in settled]
        grown = min(held[half:]) - min(held[:half])
        if grown > BOUND:
            faults.append(f"{what} grew by {grown:.2f} after step {first.step}")
    descriptors = max(sample.descriptors for sample in settled)
    if descriptors > first.descriptors:
        faults.append(f"open files grew from {first.descriptors} to {descriptors}")
    if any(sample.surplus for sample in samples):
        faults.append("checkpoints are on the disk that nothing names")
    return faults


def run_long(recipe: str, steps: int, workers: int, show: Callable[[Sample], None]) -> list[Sample]:
    """Train in this process, and what it held every so many steps."""
    settings = [
        f"trainer.max_steps={steps}", "trainer.log_every=10", "trainer.validate_every=50",
        "trainer.checkpoint_every=50", f"trainer.keep_last={KEEP_LAST}", "threads=1",
    ]  # fmt: skip
    if workers:
        settings.append(f"batches.workers={workers}")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder) / "run")
        watch = Watch(run, show)
        train(NAMES[recipe], run.folder, [*RECIPES[recipe], *settings], report=watch)
    return watch.samples


def leak(what: str) -> None:
    """Break the engine in one of the ways that this benchmark is there to notice."""
    if what == "checkpoints":
        Run.prune = lambda self, keep_last: None  # type: ignore[method-assign]
        return
    kept: list[Any] = []
    whole_stream = Loader.stream

    def stream(self: Loader, start: Place) -> Iterator[list[Any]]:
        for number, parts in enumerate(whole_stream(self, start)):
            if what == "batches":
                kept.append(parts)
            elif number % 50 == 0:
                kept.append(open(os.devnull))  # noqa: SIM115
            yield parts

    Loader.stream = stream  # type: ignore[method-assign]


def show(sample: Sample) -> None:
    print(
        f"{sample.step:5} {sample.megabytes:9.2f} {sample.workers_megabytes:10.2f}"
        f" {sample.descriptors:10} {sample.checkpoints:11} {sample.surplus:7}"
        f" {sample.seconds:7.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=list(RECIPES), default="translator")
    parser.add_argument("--steps", type=int, default=2000, help="how long to train")
    parser.add_argument("--settle", type=int, default=500, help="from which step nothing may grow")
    parser.add_argument("--workers", type=int, default=0, help="loader processes (translator only)")
    parser.add_argument("--leak", choices=["batches", "files", "checkpoints"], help="on purpose")
    options = parser.parse_args()
    if options.leak:
        leak(options.leak)
    print(" step MB-memory MB-workers open-files checkpoints surplus seconds")
    faults = judge(run_long(options.recipe, options.steps, options.workers, show), options.settle)
    print("\n".join(faults) or f"flat from step {options.settle} on")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
