"""Storage that fails: full, read-only, not flushing. One clear line, nothing lost, nothing half.

A run that stands at step 4 of 6 goes on while something is wrong: every single file operation
fails in turn, and a real file system of a few pages fills up at every point. Each time training
must end with one line and exit code 2, or not need what failed; earlier checkpoints stay as they
are and no half-written file remains. With the trouble gone, --resume must end bit-equal to an
undisturbed run. Prints the figures, and exits with 1 if something differs.

    python -m benchmarks.faults.storage [--pages 40]
"""

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults.interposer import Action, Fault, Operation
from benchmarks.faults.kill import TOGETHER, train_undisturbed
from benchmarks.faults.trial import Life, Trial, checkpoints_of, compare, leftovers
from landmark.engine.run import Run

PAGE = 4096
ERRORS = {"write": errno.ENOSPC, "mkdir": errno.ENOSPC, "open": errno.ENOSPC, "fsync": errno.EIO}
"""How an operation fails; all others with EIO too."""


@dataclass
class Figures:
    """What has happened so far."""

    troubles: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """By what the last word was about."""
    differing: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def judging(self, trouble: object) -> Iterator[None]:
        """Note a difference, and go on."""
        try:
            yield
        except AssertionError as difference:
            self.differing.append(f"{trouble}: {difference}")

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {what}" for what, count in sorted(self.ends.items()))
        return (
            f"{self.troubles} troubles ({ends}), {len(self.differing)} not overcome; "
            f"{time.monotonic() - self.began:.0f} s"
        )


def train_to_step_4(folder: Path, whole: Trial) -> Trial:
    """A run killed when it was about to save its last checkpoint."""
    saving = next(one for one in whole.operations if one.path.name == ".step-000006.partial")
    trial = Trial.create(folder)
    life = trial.live(fault=Fault(Action.KILL_BEFORE, saving.number))
    assert life.was_killed, life.said
    return trial


def check_trouble(life: Life, before: dict[str, bytes], may_leave: bool = False) -> str:
    """A life in trouble ends with one line (which is given back) or well, and harms nothing."""
    run = life.trial.run
    said = life.complaint if life.code else ""
    if said and not said.startswith(str(run.folder)):
        raise AssertionError(f"the message names no file of the run: {said}")
    kept = checkpoints_of(run)
    replaced = "step-000006/manifest.json" in kept  # then pointers move, and the oldest may go
    must_stay = [name for name in before if name.startswith("step-000004/") or not replaced]
    if changed := [name for name in must_stay if kept.get(name) != before[name]]:
        raise AssertionError(f"changed: {changed}")
    if leftovers(run) and not may_leave:
        raise AssertionError(f"left behind: {leftovers(run)}")
    return said


def fail_at_operations(
    folder: Path, start: Trial, whole: Trial, choose: Sequence[str] = (), every: int = 1
) -> Figures:
    """Go on from `start` while each operation (of these kinds) fails once; then without trouble.

    every: of each kind, only every n-th, beginning with the first.
    """
    probe, figures = start.copy(folder / "probe"), Figures()
    probe.live("--resume").check()
    by_kind: dict[str, list[Operation]] = {}
    for one in probe.operations:
        if not choose or one.kind in choose:
            by_kind.setdefault(one.kind, []).append(one)
    operations = [one for its in by_kind.values() for one in its[::every]]
    figures.troubles = len(operations)
    for place in range(0, len(operations), TOGETHER):
        begun, resumed = [], []
        for operation in operations[place : place + TOGETHER]:
            trial = start.copy(folder / f"operation-{operation.number}")
            error = ERRORS.get(operation.kind, errno.EIO)
            fault = Fault(Action.FAIL_ONCE, operation.number, error)
            begun.append((trial.begin("--resume", fault=fault), operation))
        for life, operation in begun:
            life.wait()
            with figures.judging(operation):
                may_leave = operation.kind in ("unlink", "rmdir")
                said = check_trouble(life, checkpoints_of(start.run), may_leave)
                figures.ends[f"{operation.kind}: {'refused' if said else 'not needed'}"] += 1
                resumed.append((life.trial.begin("--resume"), operation))
        for life, operation in resumed:
            life.wait()
            with figures.judging(operation):
                life.check()
                compare(whole, life.trial)
            shutil.rmtree(life.trial.notes)
    return figures


@contextmanager
def small_disk(folder: Path, size: int = 4 << 20) -> Iterator[Path]:
    """A real file system of a few megabytes; PermissionError where mounting is not allowed."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        raise PermissionError("mounting a file system is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def move_to(trial: Trial, disk: Path) -> Trial:
    """The same trial with its run on a disk, its notes where they are."""
    shutil.copytree(trial.run.folder, disk / "run")
    return Trial(trial.notes, Run(disk / "run"), trial.recipe, trial.settings, trial.log_bytes)


@contextmanager
def filled(disk: Path, pages: int) -> Iterator[None]:
    """Leave so many pages free on a disk."""
    ballast, state = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes((state.f_bfree - pages) * PAGE))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Let nothing be written to a disk."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def go_on_with_pages(start: Trial, whole: Trial, disk: Path, pages: int) -> str:
    """Go on with few free pages, then with enough; what was said in between ('' if it sufficed)."""
    trial = move_to(start, disk)
    with filled(disk, pages):
        said = check_trouble(trial.live("--resume"), checkpoints_of(start.run))
    trial.finish()
    compare(whole, trial)
    shutil.rmtree(trial.run.folder)
    return said


def fill_at_every_page(folder: Path, start: Trial, whole: Trial, pages: int) -> Figures:
    """Let the disk be full after 0, 1, 2 … more pages."""
    figures = Figures()
    with small_disk(folder / "disk") as disk:
        for free in range(pages):
            figures.troubles += 1
            with figures.judging(f"{free} free pages"):
                trial = start.copy(folder / f"pages-{free}")
                said = go_on_with_pages(trial, whole, disk, free)
                name = Path(said.partition(":")[0]).name
                figures.ends[f"refused at {name}" if said else "not needed"] += 1
    return figures


def obey_permissions() -> None:
    """In a process of root: give up its right to write where permissions forbid it."""
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice
    libc.capget(header, sets)
    sets[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc.capset(header, sets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=40, help="free pages to try, from 0 on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = train_undisturbed(folder / "whole")
        start = train_to_step_4(folder / "start", whole)
        figures = fail_at_operations(folder / "operations", start, whole)
        print(f"failing operations: {figures}", flush=True)
        differing = figures.differing
        try:
            figures = fill_at_every_page(folder / "pages", start, whole, options.pages)
            print(f"a full disk: {figures}")
            differing += figures.differing
        except PermissionError as error:
            print(f"a full disk: not tried: {error}")
    print("\n".join(differing) or "all overcome, and equal bit for bit")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
