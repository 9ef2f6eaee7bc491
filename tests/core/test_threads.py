import os
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest
import torch

from landmark.core import threads
from landmark.core.threads import BusyCores, threads_set, usable_cores

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def in_a_new_process(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Of a process that has none of our settings but these."""
    usual = {k: v for k, v in os.environ.items() if k not in (*WAITING, "OMP_NUM_THREADS")}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=usual | variables, capture_output=True, text=True, check=True
    )


@pytest.fixture(scope="module")
def libgomp() -> str:
    """The OpenMP that torch brings along."""
    found = glob(f"{Path(torch.__file__).parent}/lib/libgomp*")
    if not found:
        pytest.skip("this torch has another OpenMP")
    return found[0]


def spins(libgomp: str, code: str, **variables: str) -> int:
    """libgomp's own account of how many turns a waiting thread spins."""
    code = f"{code}; import ctypes; ctypes.CDLL({libgomp!r})"
    told = in_a_new_process(code, OMP_DISPLAY_ENV="verbose", **variables).stderr
    (line,) = [line for line in told.splitlines() if "GOMP_SPINCOUNT" in line]
    return int(line.split("'")[1])


@pytest.mark.parametrize(
    ("load", "policy"), [("1/99", None), ("2/99", "PASSIVE"), ("x", None), (None, None)]
)
def test_waiting_threads_sleep_beside_other_work(monkeypatch, tmp_path, load, policy):
    for name in WAITING:
        monkeypatch.setenv(name, "")  # so that it is put back as it was
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if load is not None:
        (tmp_path / "load").write_text(f"0.5 0.5 0.5 {load} 7")
    threads.prepare_threads(tmp_path / "load")
    assert os.environ.get("OMP_WAIT_POLICY") == policy
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    threads.prepare_threads(tmp_path / "load")
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_waiting_threads_do_as_the_user_says(libgomp):
    assert spins(libgomp, "pass") == 300_000
    assert spins(libgomp, "import landmark", OMP_WAIT_POLICY="PASSIVE") == 0
    assert spins(libgomp, "import landmark", GOMP_SPINCOUNT="77") == 77
    assert spins(libgomp, "import landmark", OMP_WAIT_POLICY="ACTIVE") > 300_000


SPIN = "from landmark.core.threads import threads_spin; print(threads_spin())"


def test_spinning_is_noticed_where_torch_came_first_or_the_user_wants_it():
    assert in_a_new_process(SPIN, OMP_WAIT_POLICY="PASSIVE").stdout == "False\n"
    assert in_a_new_process(SPIN, GOMP_SPINCOUNT="0").stdout == "False\n"
    assert in_a_new_process(SPIN, GOMP_SPINCOUNT="1000").stdout == "True\n"
    assert in_a_new_process(SPIN, OMP_WAIT_POLICY="active").stdout == "True\n"
    torch_first = f"import sys; sys.modules['torch'] = sys; {SPIN}"
    assert in_a_new_process(torch_first).stdout == "True\n"


def test_threads_are_set_for_this_process_and_its_children(monkeypatch):
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    with threads_set(3):
        assert torch.get_num_threads() == 3
        child = subprocess.run(
            [sys.executable, "-c", "import torch; print(torch.get_num_threads())"],
            capture_output=True,
            check=True,
        )
        assert child.stdout == b"3\n"
    assert torch.get_num_threads() == before
    assert os.environ["MKL_NUM_THREADS"] == "5"
    assert "RAYON_NUM_THREADS" not in os.environ
    with threads_set(None):
        assert torch.get_num_threads() == before


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "1600000 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
    ],
)
def test_a_containers_limit_on_time_limits_the_cores(tmp_path, eight_cores, files, cores):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == cores


class Machine:
    """Two cores whose time passes as a test says."""

    def __init__(self, path, monkeypatch) -> None:
        self.path, self.now, self.own, self.ticks = path, 100.0, 10.0, 5000
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
        monkeypatch.setattr(threads, "usable_cores", lambda: 2)
        monkeypatch.setattr(threads.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(threads.time, "process_time", lambda: self.own)
        self.run(0, 0, 0)

    def run(self, seconds: float, own: float, others: float) -> None:
        """Let time pass, with so many cores taken by this process and by others."""
        self.now, self.own = self.now + seconds, self.own + own * seconds
        self.ticks += round((own + others) * seconds * os.sysconf("SC_CLK_TCK"))
        self.path.write_text(
            f"cpu  1 2 3 4\ncpu0 {self.ticks - 300} 100 200 7777 5\ncpu1 0 0 0 99 9\n"
            "cpu2 999999 0 0 0\nintr 5 6\n"
        )


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "threads_spin", lambda: True)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    return Machine(tmp_path / "stat", monkeypatch)


def test_a_busy_core_is_told_once_with_the_remedy(machine):
    watch = BusyCores(machine.path)
    assert watch.warning() is None
    machine.run(1.0, own=1.2, others=0.8)
    assert watch.warning() is None  # too early to say
    machine.run(3.0, own=1.2, others=0.8)
    warning = watch.warning()
    assert "0.8 of 2 cores" in warning
    assert "--threads 1" in warning
    machine.run(10.0, own=1.0, others=1.0)
    assert watch.warning() is None


def test_what_begins_later_is_noticed_as_well(machine):
    watch = BusyCores(machine.path)
    for others, noticed in ((0.0, False), (0.2, False), (1.0, True)):
        watch.warning()
        machine.run(4.0, own=2 - others, others=others)
        assert bool(watch.warning()) == noticed


@pytest.mark.parametrize("change", ["one thread", "passive", "more cores"])
def test_nothing_is_said_where_others_do_not_disturb(machine, monkeypatch, change):
    if change == "one thread":
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    elif change == "passive":
        monkeypatch.setattr(threads, "threads_spin", lambda: False)
    else:
        monkeypatch.setattr(threads, "usable_cores", lambda: 4)
    watch = BusyCores(machine.path)
    watch.warning()
    machine.run(5.0, own=1.0, others=1.0)
    assert watch.warning() is None


def test_without_statistics_nothing_is_said(machine, tmp_path):
    assert BusyCores(tmp_path / "none").warning() is None
