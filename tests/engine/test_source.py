"""A source that grows while it is read: killed or interrupted, it goes on bit for bit."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.loader import Loader, Place
from landmark.data.points import GaussianConfig, PointSamples
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import STATE
from landmark.engine.settings import TrainerConfig, resolve_epochs
from tests.engine.replay import BATCH, PLAYED, ActorCritic, ReplayBuffer, session_of
from tests.engine.test_session import assert_same_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The undisturbed training."""
    folder = tmp_path_factory.mktemp("replay") / "whole"
    session_of(folder).train()
    return folder


def disturbed(folder, step, name):
    """A training in a process of its own that a signal ends in the middle of a step."""
    words = [sys.executable, "-m", "tests.engine.replay", folder, str(step), name]
    return subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True)


def test_its_growth_is_part_of_every_checkpoint(whole):
    for step in (4, 8, 12):
        state = load_tensors(Run(whole).checkpoint_folder(step), STATE)
        assert state["source.memory.0"].shape == (PLAYED * step, 3)
        assert state["source.place.0"].shape == (1,)


@pytest.mark.parametrize("step", [3, 6, 11])
def test_killed_in_the_middle_of_a_step_it_ends_equal(whole, tmp_path, step):
    answer = disturbed(tmp_path / "run", step, "SIGKILL")
    assert answer.returncode == -signal.SIGKILL, answer.stderr
    assert {n for n in (4, 8) if n < step} <= set(Run(tmp_path / "run").steps()) <= set(range(step))
    session = session_of(tmp_path / "run")
    session.resume("auto")
    session.train()
    assert_same_run(whole, tmp_path / "run", 12)


def test_interrupted_in_the_middle_of_a_step_it_ends_equal(whole, tmp_path):
    answer = disturbed(tmp_path / "run", 7, "SIGTERM")
    assert "stopped by SIGTERM after step 7, all saved" in answer.stderr
    assert Run(tmp_path / "run").steps()[-1] == 7
    session = session_of(tmp_path / "run")
    session.resume("auto")
    assert session.trainer.state.step == 7
    session.train()
    assert_same_run(whole, tmp_path / "run", 12)


def test_two_processes_that_play_for_themselves_go_on_equal(tmp_path):
    def together(folder, resume):
        words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]
        words = [sys.executable, *words, "tests.engine.replay", folder, resume]
        result = subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    together(tmp_path / "whole", "auto")
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    state = load_tensors(Run(tmp_path / "whole").checkpoint_folder(4), STATE)
    assert state["source.memory.0"].shape == state["source.memory.1"].shape == (4 * PLAYED, 3)
    assert not torch.equal(state["source.memory.0"], state["source.memory.1"])
    together(tmp_path / "again", "4")
    assert_same_run(tmp_path / "whole", tmp_path / "again", 12)


def test_a_batch_is_made_when_it_is_asked_for_and_not_before():
    source = ReplayBuffer(ActorCritic().actor)
    stream = source.stream(Place())
    assert len(source.memory) == 0
    places = []
    for _ in range(7):
        (part,) = next(stream)
        places.append((part.epoch, part.index))
        assert len(part.places) == BATCH
    assert places == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)]
    assert len(source.memory) == 7 * PLAYED


def test_it_goes_in_parts_as_a_data_set_does(tmp_path):
    session = session_of(tmp_path / "parts", accumulate=3)
    session.train()
    assert len(session.trainer.assembly.source.memory) == 12 * PLAYED


def test_a_data_set_carries_no_state_and_says_how_long_a_pass_is():
    loader = Loader(PointSamples(GaussianConfig(batches=5), 1))
    assert loader.state_dict() == {}
    loader.load_state_dict({})
    assert loader.batches_per_epoch() == 5
    with pytest.raises(ValueError, match="carries no state"):
        loader.load_state_dict({"memory": torch.zeros(1)})


@pytest.mark.parametrize(
    ("epochs", "batches", "steps"), [(2.0, 10, 20), (0.25, 10, 3), (30.0, 10, 100), (None, 10, 100)]
)
def test_epochs_become_updates_unless_these_end_before(epochs, batches, steps):
    config = TrainerConfig(max_steps=100, epochs=epochs)
    assert resolve_epochs(config, batches).max_steps == steps


def test_what_has_no_passes_over_it_takes_no_epochs():
    with pytest.raises(UserError, match=r"trainer\.epochs: .* set trainer\.max_steps"):
        resolve_epochs(TrainerConfig(epochs=3), None)
