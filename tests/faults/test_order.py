from pathlib import Path

import pytest

from benchmarks.faults.order import (
    LAYOUTS,
    TRAIN_PAIRS,
    VALID_PAIRS,
    compare,
    prepare,
    times_seen,
    times_validated,
)

# Batches of worker processes take ten times as long to arrive: fewer places here, as many in
# `python -m benchmarks.faults.order`.
POINTS = {0: 50, 2: 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared store of real sentence pairs, about 30 batches an epoch."""
    folder = tmp_path_factory.mktemp("order")
    prepare(folder)
    return folder


@pytest.mark.parametrize(("processes", "workers"), LAYOUTS)
def test_a_resumed_training_sees_the_batches_of_the_unbroken_one(
    folder: Path, processes: int, workers: int
) -> None:
    found = compare(folder, processes, workers, points=POINTS[workers], batches=100)
    assert found.compared == processes * POINTS[workers] * 100
    assert found.differing == 0
    assert found.fewest_boundaries >= 3


@pytest.mark.parametrize(("processes", "workers"), LAYOUTS)
def test_every_sample_is_seen_once_an_epoch_over_all_processes(
    folder: Path, processes: int, workers: int
) -> None:
    assert times_seen(folder, processes, workers, epochs=3) == [{1: TRAIN_PAIRS}] * 3


@pytest.mark.parametrize("processes", [1, 2])
def test_every_validation_sample_is_seen_once_over_all_processes(
    folder: Path, processes: int
) -> None:
    assert times_validated(folder, processes) == {1: VALID_PAIRS}
