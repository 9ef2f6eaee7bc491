"""Mutated and hostile files for every reader: no traceback, no hang, no memory without bound.

Each reader runs in a process of its own with a limit on its memory. A good answer is to read the
file or to refuse it by a UserError. Any other exception, a crash, more than 20 seconds or more than
2 GB is a fault; its file is kept. Prints a table, and exits with 1 if there was a fault.

    python -m benchmarks.faults.fuzz [--cases 100000] [--seed 0] [--only NAME] [--keep FOLDER]
"""

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import benchmarks.faults.fuzzing as fuzzing
from benchmarks.faults.fuzzing.target import Target, mutate
from landmark.core.errors import UserError

SECONDS = 20.0
MEMORY = 2 << 30
STARTING = 120.0  # seconds that imports and the making of good files may take


@dataclass
class Tally:
    """What came of one reader's files."""

    cases: int = 0
    read: int = 0
    refused: int = 0
    slowest: float = 0.0
    megabytes: float = 0.0
    faults: list[str] = field(default_factory=list)


def targets() -> list[Target]:
    """Every reader that a module of `fuzzing` names."""
    found: list[Target] = []
    for module in sorted(its.name for its in pkgutil.iter_modules(fuzzing.__path__)):
        found += getattr(importlib.import_module(f"{fuzzing.__name__}.{module}"), "TARGETS", ())
    return found


def case(target: Target, number: int, seed: int, good: list[bytes], hostile: list[bytes]) -> bytes:
    """The content of a numbered file, the same whenever it is asked for."""
    if number < len(hostile):
        return hostile[number]
    dice = random.Random(f"{target.name} {seed} {number}")
    return mutate(dice.choice(good), dice, target.tokens)


def attack(target: Target, seed: int, cases: int, keep: Path) -> Tally:
    """Give a reader its files, in processes that are replaced when they die or hang."""
    tally = Tally()
    context = multiprocessing.get_context("spawn")
    while tally.cases < cases:
        at, since = context.Value("q", tally.cases), context.Value("d", 0.0)
        receive, send = context.Pipe(duplex=False)
        ready = context.Event()
        child = context.Process(
            target=_work,
            args=(target.name, seed, cases, keep, at, since, ready, send),
            daemon=True,
        )
        child.start()
        send.close()
        _watch(child, target, tally, at, since, ready, receive)
    return tally


def _watch(
    child: Any,
    target: Target,
    tally: Tally,
    at: "Synchronized[int]",
    since: "Synchronized[float]",
    ready: Event,
    receive: Any,
) -> None:
    """Collect a child's answers until it ends; one that hangs is killed."""
    if not ready.wait(STARTING):
        child.kill()
        sys.exit(f"{target.name}: its good files were not made within {STARTING:.0f} s")
    hung = False
    while True:
        try:
            while receive.poll(0.2):
                outcome, number, seconds, peak = receive.recv()
                tally.cases = number + 1
                tally.slowest = max(tally.slowest, seconds)
                tally.megabytes = max(tally.megabytes, peak)
                if outcome in ("read", "refused"):
                    setattr(tally, outcome, getattr(tally, outcome) + 1)
                else:
                    tally.faults.append(f"{target.name} {number}: {outcome}")
        except EOFError:
            break
        if not hung and since.value and time.monotonic() - since.value > SECONDS:
            hung = True
            child.kill()
    child.join()
    if child.exitcode:
        reason = f"took over {SECONDS:.0f} s" if hung else f"ended by {child.exitcode}"
        tally.faults.append(f"{target.name} {at.value}: {reason}")
        tally.cases = at.value + 1


def _work(
    name: str,
    seed: int,
    cases: int,
    keep: Path,
    at: "Synchronized[int]",
    since: "Synchronized[float]",
    ready: Event,
    send: Any,
) -> None:
    """One process that reads files, from the case it is told on."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries' own complaints
    target = next(its for its in targets() if its.name == name)
    good, hostile = list(target.good()), list(target.hostile())
    _limit_memory()
    ready.set()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in range(at.value, cases):
            path = Path(folder) / f"case{target.suffix}"
            path.write_bytes(case(target, number, seed, good, hostile))
            at.value, since.value = number, time.monotonic()
            outcome = _try(target, path)
            seconds, since.value = time.monotonic() - since.value, 0.0
            if outcome not in ("read", "refused"):
                shutil.copy(path, keep / f"{target.name.replace(' ', '-')}-{number}{target.suffix}")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            send.send((outcome, number, seconds, peak))
    send.close()


def _limit_memory() -> None:
    """Let this process take 2 GB beyond what it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _try(target: Target, path: Path) -> str:
    try:
        target.read(path)
    except UserError:
        return "refused"
    except BaseException as error:  # a panic of Rust's is no Exception
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:100]!r} in {where.filename}:{where.lineno}"
    return "read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000, help="in all, shared out evenly")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], help="a reader's name; repeatable")
    parser.add_argument("--keep", type=Path, default=Path("runs/fuzz"), help="files with faults")
    arguments = parser.parse_args()
    chosen = [its for its in targets() if not arguments.only or its.name in arguments.only]
    if not chosen:
        sys.exit(f"no such reader; there are: {', '.join(its.name for its in targets())}")
    arguments.keep.mkdir(parents=True, exist_ok=True)
    share = -(-arguments.cases // len(chosen))
    faults: list[str] = []
    print(f"{'reader':24s}  cases    read refused faults  slowest    memory")
    for target in chosen:
        tally = attack(target, arguments.seed, share, arguments.keep)
        faults += tally.faults
        print(
            f"{target.name:24s} {tally.cases:6,} {tally.read:7,} {tally.refused:7,} "
            f"{len(tally.faults):6,} {tally.slowest:6.2f} s {tally.megabytes:6,.0f} MB",
            flush=True,
        )
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults" + (f", files in {arguments.keep}" if faults else ""))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
