"""Damage to a run's files: flipped bits, lost ends, missing and swapped files, always noticed.

Trains a small translator, flips a bit in every byte of its last checkpoint, of its pointers, of
its recipe and of the files beside it, one after another, and cuts them at random places. Reading
must refuse each time and name the file. Prints the figures, and exits with 1 if something was not
noticed.

    python -m benchmarks.faults.damage [--truncations 1000] [--seed 0]
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.faults.trial import Trial
from landmark.core.errors import UserError
from landmark.engine.checkpoint import MANIFEST, load_tensors, read_facts
from landmark.engine.run import POINTERS, RECIPE, Run
from landmark.engine.session import AVERAGE, MODEL, STATE
from landmark.tasks.training import check_asset

FILES = (MODEL, STATE, AVERAGE, MANIFEST)
SMALL = (
    "model.hidden_size=2", "data.noise_size=1", "data.batch_size=4", "data.batches=4",
    "trainer.max_steps=6", "trainer.validate_every=2", "trainer.checkpoint_every=2",
    "trainer.keep_last=2", "trainer.log_every=3", "trainer.average_last=2", "threads=1",
    "trainer.monitor=distance_from_half",
    "device=cpu",
)  # fmt: skip
"""A GAN of a few numbers, whose checkpoint is quickly gone through byte by byte."""


@dataclass
class Figures:
    """What has happened so far."""

    flips: int = 0
    truncations: int = 0
    unnoticed: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        return (
            f"{self.flips} flipped bytes and {self.truncations} truncations, "
            f"{len(self.unnoticed)} not noticed; {time.monotonic() - self.began:.0f} s"
        )


def train_small(folder: Path) -> Trial:
    """A finished run, small enough to damage every byte of."""
    trial = Trial.create(folder, "gan-gaussian", SMALL)
    trial.finish()
    return trial


def readers(run: Run) -> dict[Path, Callable[[], object]]:
    """The files that decide what a resumed run does, each with what reads it then."""
    newest = run.checkpoint_folder(run.steps()[-1])

    def read_checkpoint() -> None:
        read_facts(newest)
        for name in (MODEL, STATE, AVERAGE):
            load_tensors(newest, name)

    found: dict[Path, Callable[[], object]] = {newest / name: read_checkpoint for name in FILES}
    for pointer in POINTERS:
        found[run.checkpoints / pointer] = lambda pointer=pointer: run.pointed(pointer)
    found[run.folder / RECIPE] = run.read_recipe
    for asset, digest in run.read_recipe()["assets"].items():
        path = run.folder / asset
        found[path] = partial(check_asset, path, digest)
    return found


def flip_every_byte(run: Run, seed: int) -> Figures:
    """Flip one bit of each byte in turn."""
    figures, dice = Figures(), random.Random(seed)
    for path, read in readers(run).items():
        with path.open("r+b", buffering=0) as file:
            for place, byte in enumerate(path.read_bytes()):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << dice.randrange(8)]), place)
                figures.flips += 1
                if not refuses(read, path):
                    figures.unnoticed.append(f"{path}: byte {place}")
                os.pwrite(file.fileno(), bytes([byte]), place)
    return figures


def truncate_at_random(run: Run, count: int, seed: int) -> Figures:
    """Cut files off at random places."""
    figures, dice, found = Figures(), random.Random(seed), readers(run)
    contents = {path: path.read_bytes() for path in found}
    sizes = [len(content) for content in contents.values()]
    for path in dice.choices(list(contents), sizes, k=count):
        length = dice.randrange(len(contents[path]))
        os.truncate(path, length)
        figures.truncations += 1
        if not refuses(found[path], path):
            figures.unnoticed.append(f"{path}: cut after {length} bytes")
        with path.open("ab") as file:
            file.write(contents[path][length:])
    return figures


def refuses(read: Callable[[], object], path: Path) -> bool:
    """Whether reading complains, and names the file."""
    try:
        read()
    except UserError as error:
        return str(error).startswith(f"{path}: ")
    return False


def flip(path: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    """Take the second half of a file away."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def swap(path: Path) -> None:
    """Put the same file of the checkpoint before in a file's place."""
    run = Run(path.parents[2])
    shutil.copy(run.checkpoint_folder(run.steps()[-2]) / path.name, path)


def replace_folder(run: Run, name: str) -> None:
    """Put another checkpoint's folder in the place of the newest."""
    newest = run.checkpoint_folder(run.steps()[-1])
    shutil.rmtree(newest)
    shutil.copytree(run.checkpoints / name, newest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truncations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="decides which bits and places")
    options, unnoticed = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial.create(Path(folder) / "translator")
        trial.finish()
        for figures in (
            flip_every_byte(trial.run, options.seed),
            truncate_at_random(trial.run, options.truncations, options.seed),
        ):
            print(figures, flush=True)
            unnoticed += figures.unnoticed
    print("\n".join(unnoticed) or "all noticed, and the file named")
    sys.exit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
