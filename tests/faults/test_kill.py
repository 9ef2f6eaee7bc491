"""Killed (-9) at any moment, a training goes on and ends equal, bit for bit."""

import signal
import sys
import time

import pytest

from benchmarks.faults.interposer import Action, Fault
from benchmarks.faults.kill import before_saving, kill_at_operations, kill_at_random, on_step_5
from benchmarks.faults.signals import MOMENTS, signalled
from benchmarks.faults.trial import SETTINGS, Trial, compare

ENDLESS = (*SETTINGS, "trainer.max_steps=100000")


def test_killed_at_operations_of_going_on_and_saving(whole, half_saved, tmp_path):
    """Every third of them; benchmarks/faults/kill.py takes all."""
    figures = kill_at_operations(tmp_path, half_saved, whole, ["--resume"], every=3)
    assert figures.differing == []
    assert figures.equal == figures.kills.total() > figures.operations / 3 > 20
    assert figures.kills["saving"] > 10


def test_killed_at_operations_of_going_back(whole, tmp_path):
    figures = kill_at_operations(tmp_path, whole, whole, ["--resume", "4"], before_saving, every=2)
    assert figures.differing == []
    assert figures.equal == figures.kills.total() > figures.operations / 2 > 5


def test_killed_while_a_signals_checkpoint_gives_way_to_the_next(whole, tmp_path):
    start = Trial.create(tmp_path / "start")
    assert signalled(start, MOMENTS["training"], signal.SIGTERM).code == 143
    assert start.run.steps() == [4, 5]
    figures = kill_at_operations(tmp_path, start, whole, ["--resume"], on_step_5)
    assert figures.differing == []
    assert figures.equal == figures.kills.total() > figures.operations > 5


def test_killed_at_random_moments(whole, tmp_path):
    figures = kill_at_random(tmp_path, whole, 8, seed=0)
    assert figures.differing == []
    assert figures.kills.total() == 8


@pytest.mark.parametrize("moment", ["write", "rename"])
def test_killed_while_the_recipe_is_written(whole, tmp_path, moment):
    written = [one for one in whole.operations if one.path.name == ".recipe.yaml.partial"]
    number = next(one.number for one in written if one.kind == moment)
    trial = Trial.create(tmp_path / "trial")
    assert trial.live(fault=Fault(Action.KILL_BEFORE, number)).was_killed
    trial.finish()
    compare(whole, trial)


def begin_endless(folder, run, workers, *words):
    """A training of this run that goes on until it is killed, once it has made a step."""
    folder.mkdir()
    trial = Trial(folder, run, settings=(*ENDLESS, f"batches.workers={workers}"))
    life = trial.begin(*words)
    while not any(line.startswith("step ") for line in trial.diary):
        assert life.wait(0.05) is None, life.said
    return life


@pytest.mark.parametrize("workers", [0, 2])
def test_a_second_trainer_is_refused_and_a_kill_leaves_no_lock(compiler, tmp_path, workers):
    run = Trial.create(tmp_path / "run").run
    first = begin_endless(tmp_path / "first", run, workers)
    (tmp_path / "second").mkdir()
    second = Trial(tmp_path / "second", run, settings=ENDLESS).live("--resume")
    assert second.complaint == f"{run.folder}: another process is training this run"
    assert first.wait(0) is None
    first.kill()
    killed = time.monotonic()
    with run.locked():  # at once, though the loader's workers live on for up to five seconds
        assert time.monotonic() - killed < 1
    third = begin_endless(tmp_path / "third", run, workers, "--resume")
    third.kill()


GAN = (
    "data.corpus=digits",
    "model.image_size=16",
    "model.width=2",
    "noise.noise_size=4",
    "batches.size=32",
    "judge.samples=32",
    "trainer.max_steps=6",
    "trainer.log_every=1",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "threads=1",
    "device=cpu",
)


def test_a_game_of_two_players_killed_at_random_moments(compiler, tmp_path, monkeypatch):
    """Both players' optimisers, the generator's average and the samples of each validation."""
    # A child gets sys.path, and other tests put a torchvision there that users never have.
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not path.endswith("peers")])
    whole = Trial.create(tmp_path / "whole", "dcgan-mnist", GAN)
    whole.live().check()
    figures = kill_at_random(tmp_path, whole, 6, seed=1)
    assert figures.differing == []
    assert figures.kills.total() == 6
