import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.faults.long_run import BOUND, Sample, judge

ROOT = Path(__file__).parents[2]


# (recipe, steps, step from which nothing may grow, workers). The GAN makes all of the 2,000 steps;
# the translator, which is slower, makes them in `python -m benchmarks.faults.long_run`.
TRAININGS = [("gan", 2000, 500, 0), ("translator", 600, 300, 0), ("translator", 600, 300, 2)]
Training = tuple[str, int, int, int]


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[Training, subprocess.Popen[str]]]:
    """Each training in a process of its own, whose memory is nobody else's; all side by side."""
    names = ("--recipe", "--steps", "--settle", "--workers")
    started = {}
    try:
        for training in TRAININGS:
            options = [str(word) for pair in zip(names, training, strict=True) for word in pair]
            started[training] = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.faults.long_run", *options],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        yield started
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


@pytest.mark.parametrize("training", TRAININGS)
def test_memory_open_files_and_checkpoints_do_not_grow(
    processes: dict[Training, subprocess.Popen[str]], training: Training
) -> None:
    _, steps, settle, _ = training
    output, _ = processes[training].communicate(timeout=600)
    assert processes[training].returncode == 0, output
    assert output.endswith(f"flat from step {settle} on\n")
    sampled = [int(line.split()[0]) for line in output.splitlines() if line.lstrip()[:1].isdigit()]
    assert sampled == list(range(100, steps + 100, 100))


FLAT = [Sample(step, 350.0, 200.0, 15, 3, 0, 1.0) for step in range(100, 1100, 100)]


def test_what_is_flat_passes_and_what_happens_before_it_settles_does_not_count() -> None:
    assert judge(FLAT, 300) == []
    assert judge([replace(FLAT[0], megabytes=100.0, descriptors=9), *FLAT[1:]], 300) == []
    assert (
        judge([*FLAT[:-4], *(replace(x, megabytes=350 + BOUND / 2) for x in FLAT[-4:])], 300) == []
    )


def test_memory_that_goes_up_and_down_is_flat() -> None:
    held = [350.0 + 2 * BOUND * (number % 3) for number in range(len(FLAT))]
    assert judge([replace(x, megabytes=y) for x, y in zip(FLAT, held, strict=True)], 300) == []


def test_memory_that_goes_up_and_down_and_grows_is_named() -> None:
    held = [350.0 + BOUND * (number % 3) + number * BOUND / 2 for number in range(len(FLAT))]
    samples = [replace(x, megabytes=y) for x, y in zip(FLAT, held, strict=True)]
    assert judge(samples, 300)[0].startswith("megabytes grew")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"megabytes": 350.1 + BOUND}, "megabytes grew"),
        ({"workers_megabytes": 200.1 + BOUND}, "workers_megabytes grew"),
        ({"descriptors": 16}, "open files grew from 15 to 16"),
        ({"surplus": 1}, "checkpoints"),
    ],
)
def test_what_grows_is_named(change: dict[str, float], what: str) -> None:
    changed = [replace(sample, **change) for sample in FLAT[-4:]]
    (fault,) = judge([*FLAT[:-4], *changed], 300)
    assert fault.startswith(what)
