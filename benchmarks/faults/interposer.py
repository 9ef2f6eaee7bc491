"""Faults in the file operations of a process: what `interposer.c` does, from Python."""

import atexit
import ctypes
import enum
import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("interposer.c")


class Action(enum.IntEnum):
    """What happens at the operation that a fault names."""

    WATCH = 0
    KILL_BEFORE = 1
    KILL_AMID = 2
    KILL_AFTER = 3
    FAIL_ONCE = 4
    FAIL_ONWARD = 5


@dataclass(frozen=True)
class Fault:
    """A kill or a failure at one operation, counted from 1."""

    action: Action = Action.WATCH
    number: int = 0
    error: int = 0
    """The errno of a failure."""
    kind: str = ""
    """Count only operations of this name."""


@dataclass(frozen=True)
class Operation:
    """One thing that a process did to a file, as its journal tells."""

    number: int
    kind: str
    path: Path

    def __str__(self) -> str:
        return f"operation {self.number}, {self.kind} {self.path.name}"


@functools.cache
def build() -> Path:
    """The compiled library, made once by each process that asks for it."""
    folder = Path(tempfile.mkdtemp(prefix="interposer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "interposer.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def arm(folder: Path, journal: Path, fault: Fault) -> None:
    """In a process that the library was loaded into: mind what happens in `folder` from now on."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "interposer_arm"):
        raise RuntimeError("the interposer is not in LD_PRELOAD of this process")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    library.interposer_arm(
        os.fsencode(folder.resolve()),
        fault.kind.encode(),
        os.open(journal, flags, 0o600),
        int(fault.action),
        ctypes.c_long(fault.number),
        fault.error,
    )


def read_journal(journal: Path) -> list[Operation]:
    """What a process did, in order."""
    rows = [line.split("\t", 3) for line in journal.read_text().splitlines()]
    return [Operation(int(number), kind, Path(path)) for _, number, kind, path in rows]
