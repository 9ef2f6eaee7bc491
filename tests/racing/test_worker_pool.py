"""Trials in processes: stopped together, gone on with together; one that dies ends the race."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from landmark.core.errors import TrainingError
from landmark.racing.entry import enter_problem
from landmark.racing.race import hold_race

DYING = """
import os

from bowl_problem import Bowl


class Dying(Bowl):
    def loss(self, step):
        if step == 3:
            os._exit(9)
        return super().loss(step)
"""


def test_a_process_that_dies_ends_the_race_with_a_word(bowl, module, tmp_path):
    module("dying", DYING)
    with pytest.raises(TrainingError, match=r"adam, rate 0\.1, seed 1: its process ended"):
        hold_race(
            enter_problem("dying:Dying", steps=5),
            tmp_path / "race",
            methods=["adam"],
            rates=[0.1],
            seeds=1,
            jobs=2,
        )


PANICKING = """
class Panic(BaseException):
    pass


from bowl_problem import Bowl


class Panicking(Bowl):
    def loss(self, step):
        if step == 3:
            raise Panic("at step 3")
        return super().loss(step)
"""


def test_a_crash_in_a_process_is_one_line_of_the_race(bowl, module, tmp_path):
    module("panicking", PANICKING)
    words = ["race", "--problem", "panicking:Panicking", "--methods", "adam", "--rates", "0.1"]
    words += ["--jobs", "2", "--seeds", "1", "--steps", "5"]
    result = subprocess.run(
        [sys.executable, "-m", "landmark", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    (said,) = [line for line in result.stderr.splitlines() if line.startswith("landmark: ")]
    assert "Panic: at step 3" in said
    (path,) = tmp_path.glob("landmark-error-*.txt")
    assert 'raise Panic("at step 3")' in path.read_text()


def blocked_signals(race: int) -> list[int]:
    """The masks of a race's processes that have begun."""
    found = []
    for child in Path(f"/proc/{race}/task/{race}/children").read_text().split():
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
            status = Path(f"/proc/{child}/status").read_text()
            found.append(int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16))
    return found


def test_ctrl_c_while_processes_start_is_one_line(slow_bowl):
    words = ["race", "--problem", slow_bowl, "--methods", "adam", "--jobs", "2"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "landmark", *words]
    race = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 100
    while len(masks := blocked_signals(race.pid)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert all(mask >> (signal.SIGINT - 1) & 1 for mask in masks)
    os.killpg(race.pid, signal.SIGINT)
    _, said = race.communicate(timeout=60)
    assert race.returncode == 130
    assert "Traceback" not in said
    assert said.endswith("--resume\nlandmark: interrupted\n")


def test_a_race_that_is_stopped_goes_on_with_resume(slow_bowl, tmp_path):
    folder = tmp_path / "race"
    words = ["race", "--problem", slow_bowl, "--steps", "150", "--methods", "adam"]
    words += ["--rates", "0.01,0.1", "--seeds", "1", "--jobs", "2", "--run", str(folder)]
    command = [sys.executable, "-m", "landmark", *words]
    # What runs in the background of a shell ignores Ctrl-C, and so would its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    race = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    logs = [folder / "trials/adam" / f"rate-{rate}/seed-1/log.jsonl" for rate in ("0.01", "0.1")]
    deadline = time.monotonic() + 100
    while not all(log.exists() for log in logs):
        assert time.monotonic() < deadline
        assert race.poll() is None
        time.sleep(0.05)
    os.killpg(race.pid, signal.SIGINT)  # as Ctrl-C on a terminal does
    _, said = race.communicate(timeout=60)
    assert race.returncode == 130, said
    assert "continue with the same command and --resume" in said
    assert not (folder / "race.json").exists()
    saved = [path.name for path in folder.glob("trials/adam/*/seed-1/checkpoints/step-*")]
    assert len(saved) == 2

    result = subprocess.run(
        [*command, "--resume", "--json"], capture_output=True, text=True, timeout=200, check=False
    )
    assert result.returncode == 0, result.stderr
    unbroken = hold_race(
        enter_problem(slow_bowl, steps=150),
        tmp_path / "unbroken",
        methods=["adam"],
        rates=[0.01],
        seeds=1,
    )
    found = json.loads(result.stdout)["standings"][0]["search"][0]
    assert found["rate"] == 0.01
    assert found["loss"] == unbroken.standings[0].loss
