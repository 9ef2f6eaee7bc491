"""The threads that torch computes with: how many, how they wait, and whether others disturb them.

torch's OpenMP lets a thread that waits for others spin for milliseconds before it sleeps. That is
fastest on a quiet machine. Where another process has one of the cores, the spinning keeps the
thread that is waited for from running; asleep, threads do not mind (benchmarks/busy_core.py). So
they sleep if other processes compute when we begin. OpenMP reads these variables once, when torch
is imported.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POLICY, _SPINS = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
_WAITING = (_POLICY, _SPINS, "KMP_BLOCKTIME")
_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_CGROUP = Path("/sys/fs/cgroup")
_STATISTICS = Path("/proc/stat")
_LOAD = Path("/proc/loadavg")
_LOOKS = 5
_SECONDS = 3.0  # over which the load is measured
_DISTURBANCE = 0.5  # cores taken by others that are worth a word

_TORCH_WAS_FIRST = "torch" in sys.modules


def prepare_threads(load: Path = _LOAD) -> None:
    """Let waiting threads sleep beside other work, and use no more than the container's cores.

    What the user has set in the environment stays. Call it before torch is imported.
    """
    if not any(name in os.environ for name in _WAITING) and _others_compute(load):
        os.environ[_POLICY] = "PASSIVE"
    if usable_cores() < _visible_cores():
        os.environ.setdefault("OMP_NUM_THREADS", str(usable_cores()))


def _others_compute(load: Path) -> bool:
    """Whether another process wants a core, most of the times that we look."""
    seen = 0
    try:
        for _ in range(_LOOKS):
            running = int(load.read_text().split()[3].split("/")[0])
            seen += running > 1  # this one is running, too
            time.sleep(0.002)
    except (OSError, ValueError, IndexError):  # no Linux
        return False
    return seen > _LOOKS // 2


def threads_spin() -> bool:
    """Whether threads that wait keep their core."""
    spins = os.environ.get(_SPINS)
    is_passive = os.environ.get(_POLICY, "").upper() == "PASSIVE"
    return _TORCH_WAS_FIRST or (spins != "0" if spins else not is_passive)


@contextmanager
def threads_set(count: int | None) -> Iterator[None]:
    """Within the block this process and those it starts compute with `count` threads."""
    if count is None:
        yield
        return
    variables = dict.fromkeys(_COUNTS, str(count))
    variables["MKL_DYNAMIC"] = "FALSE"  # also more threads than cores, if that is wanted
    before = {name: os.environ.get(name) for name in variables}
    torch = sys.modules.get("torch")  # not yet there, it will read the variables
    usual = torch.get_num_threads() if torch else 0
    os.environ.update(variables)
    if torch:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        if torch:
            torch.set_num_threads(usual)


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """The cores that this process may use: by affinity, and by a container's limit on time."""
    cores = _visible_cores()
    try:
        if (cgroup / "cpu.max").is_file():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota, period = (
                (cgroup / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
            )
        share = int(quota) / int(period)  # "max" or a negative number where there is no limit
    except (OSError, ValueError):
        return cores
    return min(cores, math.ceil(share)) if share > 0 else cores


def _visible_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class BusyCores:
    """Detects other processes on the cores that spinning threads need, and warns once."""

    def __init__(self, statistics: Path = _STATISTICS) -> None:
        self.statistics = statistics
        self.begun: tuple[float, float, float] | None = None
        self.has_spoken = False

    def warning(self) -> str | None:
        """To be asked often while the process computes; nearly always None."""
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch and threads_spin() else 1
        if threads == 1 or self.has_spoken:
            return None
        now = time.monotonic()
        if self.begun and now - self.begun[0] < _SECONDS:
            return None
        busy = _busy_seconds(self.statistics)
        if busy is None:
            return None
        before, self.begun = self.begun, (now, busy, time.process_time())
        if before is None:
            return None
        seconds, used, own = (b - a for a, b in zip(before, self.begun, strict=True))
        others, cores = (used - own) / seconds, usable_cores()
        if others < _DISTURBANCE or threads + others < cores + _DISTURBANCE:
            return None
        self.has_spoken = True
        return (
            f"warning: other processes keep {others:.1f} of {cores} cores busy, where threads that "
            "wait by spinning lose much time: --threads 1, or OMP_WAIT_POLICY=PASSIVE in the "
            "environment, is faster"
        )


def _busy_seconds(statistics: Path) -> float | None:
    """The time that all processes have spent on the cores we may use; None: not known here."""
    try:
        lines = statistics.read_text().splitlines()
    except OSError:  # no Linux
        return None
    cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    ticks = 0
    for name, *fields in (line.split() for line in lines if line.startswith("cpu")):
        if name in cores:
            user, nice, system = map(int, fields[:3])
            ticks += user + nice + system
    return ticks / os.sysconf("SC_CLK_TCK")
