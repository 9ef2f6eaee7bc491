"""SIGINT and SIGTERM at random moments of the first seconds of every kind of command.

Each command is a real process, struck once, alone or with its whole process group, as a terminal
does it. It must end with one line and 130 or 143 (a training may finish its batch and save), or
have finished with 0: no traceback, no crash, no signal that goes lost. Python's own start, before
a line of ours runs, is told apart by the signals that the process catches, and is not judged.
Prints a table, and exits with 1 if there was a fault.

    python -m benchmarks.faults.startup [--signals 1000] [--seed 0] [--only NAME]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.trial import ROOT, SETTINGS

SIGNALS = (signal.SIGINT, signal.SIGTERM)
FIRST = 5.0  # seconds of a command in which it is struck
PATIENCE = 60.0  # seconds that an answer may take on a busy machine
TOGETHER = 2  # processes at a time
PROBLEM = """
import torch
from torch import nn

class Bowl:
    def __init__(self, seed):
        self.parameters = [nn.Parameter(torch.ones(3))]

    def loss(self, step):
        return self.parameters[0].square().sum()
"""
LONG = [word.replace("max_steps=6", "max_steps=100000") for word in SETTINGS]
TEXT = "The old man reads a good book."
CASES = {
    "help": ["--help"],
    "list": ["list"],
    "show": ["show", "lenet5"],
    "recipe": ["recipe", "transformer-embedded"],
    "data": ["data", "list"],
    "runs": ["runs"],
    "doctor": ["doctor"],
    "train": ["train", "transformer-embedded", *LONG, "--run", "NEW"],
    "evaluate": ["evaluate", "runs/translator"],
    "translate": ["translate", "runs/translator", TEXT],
    "generate": ["generate", "runs/writer", "The", "--length", "30"],
    "average": ["average", "runs/translator", "--last", "2"],
    "figure": ["figure", "losses", "runs/translator", "--output", "losses.png"],
    "export": ["export", "runs/translator", "--to", "onnx", "--output", "NEW"],
    "race": ["race", "--problem", "bowl:Bowl", "--methods", "adam,sgd", "--jobs", "2", "--steps",
             "200", "--run", "NEW"],
}  # fmt: skip
"""Command lines by name; NEW is a folder that there is not yet."""


class Strike(NamedTuple):
    """One signal: which command it hits, when, and whom."""

    case: str
    number: signal.Signals
    seconds: float
    to_group: bool


class Answer(NamedTuple):
    """What came of a strike."""

    outcome: str
    """early, ended, saved, finished, or what is wrong."""
    seconds: float


@dataclass
class Tally:
    """What came of the strikes on one command."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)


def prepare(folder: Path) -> None:
    """What the commands work on: a translator, a language model and a problem to race."""
    (folder / "bowl.py").write_text(PROBLEM)
    (folder / "page.txt").write_text(f"{TEXT}\n\n" * 40)
    small = ["model.embedding_size=8", "model.hidden_size=16", "trainer.max_steps=3", "threads=1"]
    trained = [
        ["transformer-embedded", *SETTINGS, "model.max_length=256", "--run", "runs/translator"],
        ["language-model", *small, "data.text=[page.txt]", "--run", "runs/writer"],
    ]
    for words in trained:
        subprocess.run(
            [*program(), "train", *words], cwd=folder, env=environment(), check=True,
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip


def program() -> list[str]:
    return [sys.executable, "-m", "landmark"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def start(words: list[str], folder: Path, new: str) -> "subprocess.Popen[str]":
    """A command in a session of its own."""
    return subprocess.Popen(
        [*program(), *(new if word == "NEW" else word for word in words)], cwd=folder,
        env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip


def duration(case: str, folder: Path) -> float:
    """The seconds that a command takes undisturbed, as far as they matter."""
    began = time.monotonic()
    process = start(CASES[case], folder, f"undisturbed-{case}")
    try:
        _, said = process.communicate(timeout=FIRST + 1)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return FIRST
    if process.returncode:
        sys.exit(f"{case}: ends with {process.returncode}: {said}")
    return min(FIRST, time.monotonic() - began)


def strike(its: Strike, folder: Path, new: str) -> Answer:
    """Start a command, strike it, and judge its answer."""
    process = start(CASES[its.case], folder, new)
    time.sleep(its.seconds)
    is_ours = catches_sigterm(process.pid)
    sent = time.monotonic()
    with suppress(ProcessLookupError):
        (os.killpg if its.to_group else os.kill)(process.pid, its.number)
    try:
        _, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        return Answer(f"no answer within {PATIENCE:.0f} s: {said[-500:]}", PATIENCE)
    return Answer(judge(its.number, process.returncode, said, is_ours), time.monotonic() - sent)


def catches_sigterm(process: int) -> bool | None:
    """Whether our handlers are there already; None if the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), None)
    return None if caught is None else bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def judge(number: signal.Signals, code: int, said: str, is_ours: bool | None) -> str:
    """What an answer is: early, ended, saved, finished, or what is wrong with it."""
    if code == 0 and "Traceback" not in said:
        return "finished"
    if is_ours is False:
        return "early"
    lines = said.splitlines()
    ours = [line for line in lines if line.startswith("landmark: ")]
    word = "interrupted" if number == signal.SIGINT else "terminated"
    is_saved = any(f"stopped by {number.name} after step" in line for line in lines)
    if code == 128 + number and "Traceback" not in said and "Exception ignored" not in said:
        if is_saved and not ours:
            return "saved"
        if ours == [f"landmark: {word}"] == lines[-1:]:
            return "ended"
    return f"ended with {code}: {said[-500:]!r}"


def strikes(total: int, dice: random.Random, lengths: dict[str, float]) -> Iterator[Strike]:
    """Signals at random moments, the same number for every command."""
    for case, _ in zip(count(), range(total), strict=False):
        name = list(lengths)[case % len(lengths)]
        moment = dice.uniform(0, lengths[name])
        yield Strike(name, dice.choice(SIGNALS), moment, dice.random() < 0.5)


def attack(total: int, seed: int, names: list[str], folder: Path) -> dict[str, Tally]:
    """Strike the named commands; what came of it, by command."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell's `&` starts ignores it
    lengths = {name: duration(name, folder) for name in names}
    found = {name: Tally() for name in names}
    planned = list(strikes(total, random.Random(seed), lengths))
    with ThreadPoolExecutor(TOGETHER) as pool:
        answers = pool.map(lambda n: strike(planned[n], folder, f"new-{n}"), range(total))
        for its, answer in zip(planned, answers, strict=True):
            tally = found[its.case]
            if answer.outcome in ("early", "ended", "saved", "finished"):
                tally.outcomes[answer.outcome] += 1
                tally.slowest = max(tally.slowest, answer.seconds)
            else:
                tally.faults.append(f"{its}: {answer.outcome}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=[*CASES], help="repeatable")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        prepare(Path(scratch))
        names = arguments.only or list(CASES)
        found = attack(arguments.signals, arguments.seed, names, Path(scratch))
    print(f"{'command':10} signals early  ended  saved finished faults  slowest")
    for name, tally in found.items():
        early, ended, saved, finished = (
            tally.outcomes[its] for its in ("early", "ended", "saved", "finished")
        )
        total = tally.outcomes.total() + len(tally.faults)
        print(
            f"{name:10} {total:7} {early:5} {ended:6} {saved:6} {finished:8} "
            f"{len(tally.faults):6} {tally.slowest:6.1f} s"
        )
    faults = [fault for tally in found.values() for fault in tally.faults]
    for fault in faults:
        print(fault)
    print(f"{sum(t.outcomes.total() for t in found.values()) + len(faults)} signals, "
          f"{len(faults)} faults")  # fmt: skip
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
