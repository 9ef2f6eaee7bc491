"""Two processes: they share the work exactly, and come through death, silence and signals."""

import shutil
import signal
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.distributed as dist

from benchmarks.faults.group import (
    RECIPE,
    TRANSLATOR,
    differences,
    is_alive,
    kill,
    torchrun,
    train_words,
    wait_until,
)
from benchmarks.faults.journal import run_together
from benchmarks.faults.processes import kill_rank
from landmark.core.errors import TrainingError
from landmark.engine.checkpoint import load_tensors, read_facts
from landmark.engine.distributed import _meet
from landmark.engine.run import Run
from landmark.tasks.training import train

STEPS = 60
DISTURBED = [*TRANSLATOR, f"trainer.max_steps={STEPS}"]
EXACT = [*TRANSLATOR, "model.dropout=0", "trainer.max_steps=24", "data.valid_pairs=1"]
HALF = [*EXACT, "trainer.max_steps=12"]
SCARCE = [*EXACT, "data.train_pairs=9", "data.valid_pairs=21", "batches.tokens=30"]
"""Batches of one sentence or two: for some there are fewer than processes."""
SHARDED = "trainer.sharded=true"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Runs of one process."""
    folder = tmp_path_factory.mktemp("alone")
    for name, settings in {"exact": EXACT, "half": HALF, "scarce": SCARCE}.items():
        train(RECIPE, folder / name, settings)
    return folder


@pytest.fixture(scope="module")
def together(tmp_path_factory, alone):
    """Runs of two processes, and the journals of both by the run's name."""
    folder = tmp_path_factory.mktemp("together")
    for name in ("gone-on", "gone-on-sharded"):
        shutil.copytree(alone / "half", folder / name)
    plan = {
        "undisturbed": DISTURBED,
        "exact": EXACT,
        "scarce": SCARCE,
        "gone-on": [*EXACT, "--resume"],
        "gone-on-sharded": [*EXACT, SHARDED, "--resume"],
        "half": HALF,
        "half-sharded": [*HALF, SHARDED],
    }
    commands = [train_words(folder / name, words)[1:] for name, words in plan.items()]
    journals = run_together(folder / "journal", commands)
    entries = {name: [journal[i] for journal in journals] for i, name in enumerate(plan)}
    assert all(entry["code"] == 0 for pair in entries.values() for entry in pair)
    return folder, entries


def weights(folder):
    return load_tensors(Run(folder).find_checkpoint("latest"), "model.safetensors")


def test_only_the_first_process_writes(together):
    folder, entries = together
    for name, (first, second) in entries.items():
        inside = [
            [change for change in entry["changes"] if str(folder / name) in change[1]]
            for entry in (first, second)
        ]
        assert {event for event, _ in inside[0]} >= {"open", "os.mkdir", "os.rename"}, name
        assert not inside[1], name


@pytest.mark.parametrize(("name", "pairs"), [("undisturbed", 100), ("scarce", 9)])
def test_every_sample_is_seen_once_an_epoch_by_one_of_the_two(together, name, pairs):
    _, entries = together
    first, second = (entry["updates"] for entry in entries[name])
    assert [(u["epoch"], u["index"]) for u in first] == [(u["epoch"], u["index"]) for u in second]
    epochs = defaultdict(Counter)
    for update in first + second:
        epochs[update["epoch"]].update(s for part in update["samples"] for s in part)
    *complete, last = epochs.values()
    assert len(complete) >= 2
    assert all(seen == Counter(range(pairs)) for seen in complete)
    assert max(last.values()) == 1
    if name == "scarce":
        assert any(update["samples"] == [] for update in second)  # stand-ins, which do not count


@pytest.mark.parametrize(("name", "pairs"), [("exact", 1), ("scarce", 21)])
def test_validation_is_shared_out_and_summed_right(together, alone, name, pairs):
    folder, _ = together
    logs = [Run(runs / name).read_log() for runs in (alone, folder)]
    (data,) = (record for record in logs[1] if record["kind"] == "data")
    assert data["valid_pairs"] == pairs
    one, two = ([record for record in log if record["kind"] == "valid"] for log in logs)
    assert [record["step"] for record in two] == [10, 20, 24]
    for mine, theirs in zip(one, two, strict=True):
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)
        assert theirs["accuracy"] == pytest.approx(mine["accuracy"], abs=1e-9)


@pytest.mark.parametrize("name", ["exact", "gone-on", "gone-on-sharded"])
def test_two_processes_train_as_one_and_go_on_with_what_one_has_saved(together, alone, name):
    folder, _ = together
    torch.testing.assert_close(weights(folder / name), weights(alone / "exact"), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["half", "half-sharded"])
def test_one_process_goes_on_with_what_two_have_saved(together, alone, tmp_path, name):
    folder, _ = together
    shutil.copytree(folder / name, tmp_path / "run")
    train(RECIPE, tmp_path / "run", EXACT, resume="auto")
    torch.testing.assert_close(
        weights(tmp_path / "run"), weights(alone / "exact"), atol=1e-5, rtol=0
    )


def meet_all(store, count=3):
    with ThreadPoolExecutor(count) as threads:
        return set(threads.map(lambda number: _meet(store, number, count, 10), range(count)))


def test_waiting_in_vain_shows_what_was_said_and_where_each_process_stood(tmp_path):
    pause = ["-n1", "-r1", "-s", "print('said', flush=True)", "import time; time.sleep(600)"]
    with torchrun(["timeit", *pause], tmp_path / "said.txt") as group:
        group.await_condition(lambda: group.text().count("said") == 2, "two processes")
        with pytest.raises(TimeoutError, match=r"waited 0\.1 seconds for a miracle") as failure:
            group.await_condition(lambda: False, "a miracle", 0.1)
    text = str(failure.value)
    assert text.count("said\n") == 2
    assert text.count("timeit.py") >= 2
    assert "torch/distributed/elastic" in text


def test_processes_started_anew_never_meet_the_dead():
    store = dist.HashStore()
    (first,) = meet_all(store)
    with pytest.raises(TrainingError, match="not all processes have come within"):
        _meet(store, 1, 3, 0.1)  # one that came, saw the others' old signatures, and was killed
    (second,) = meet_all(store)
    assert first != second


def test_a_killed_process_is_started_anew_and_the_run_ends_bit_equal(together, tmp_path):
    folder, run = together[0], Run(tmp_path / "run")
    with torchrun(train_words(run.folder, DISTURBED), tmp_path / "said.txt", restarts=2) as group:
        for rank, step in ((1, STEPS // 4), (0, STEPS // 2)):
            group.await_step(run, step)
            assert STEPS > kill_rank(group, rank, run).step >= step
        assert group.finish() == 0, group.text()
    complaints = group.complaints()
    assert len(complaints) == 2
    for survivor, line in enumerate(complaints):
        assert line.startswith(f"landmark: process {survivor} of 2: another process has ended:")
    assert not group.frames(), group.text()
    assert differences(folder / "undisturbed", run.folder) == []


def test_a_process_that_hangs_ends_the_other_in_one_line(tmp_path):
    run = Run(tmp_path / "run")
    words = train_words(run.folder, [*DISTURBED, "trainer.timeout=5"])
    with torchrun(words, tmp_path / "said.txt", restarts=1) as group:
        for silent, step in ((1, STEPS // 4), (0, STEPS // 2)):
            group.await_step(run, step)
            ranks, started = group.await_ranks(), time.monotonic()
            kill(ranks[silent], signal.SIGSTOP)
            wait_until(lambda: not is_alive(ranks[1 - silent]), "the other's end", 60)  # noqa: B023
            assert time.monotonic() - started > 4
            kill(ranks[silent])  # torchrun would do so after half a minute
        assert group.finish() == 1, group.text()
    complaints = group.complaints()
    assert len(complaints) == 2
    for answering, line in enumerate(complaints):
        assert f"process {answering} of 2: another process has not answered for 5 seconds" in line
    assert not group.frames(), group.text()


def test_a_signal_to_torchrun_saves_once_and_resuming_ends_bit_equal(together, tmp_path):
    folder, run = together[0], Run(tmp_path / "run")
    words = begun = train_words(run.folder, [*DISTURBED, "batches.workers=2"])
    for number, step in ((signal.SIGTERM, STEPS // 4), (signal.SIGINT, STEPS // 2)):
        with torchrun(words, tmp_path / f"{number}.txt") as group:
            group.await_step(run, step)
            group.process.send_signal(number)
            assert group.finish() != 0
        stopped = read_facts(run.find_checkpoint("latest"))["step"]
        assert step <= stopped < STEPS
        assert group.text().count("stopped by") == 1
        assert f"stopped by {number.name} after step {stopped}, all saved" in group.text()
        assert not group.frames(), group.text()
        words = [*begun, "--resume"]
    with torchrun(words, tmp_path / "end.txt") as group:
        assert group.finish() == 0, group.text()
    assert differences(folder / "undisturbed", run.folder) == []
