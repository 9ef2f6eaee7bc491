"""Trainings inside a training: a signal stops both, and both go on where they were."""

import os
import signal

import pytest
import torch
from torch import nn

from landmark.core.turn import Objective, Turn
from landmark.data.batch import AdversarialBatch
from landmark.data.loader import Loader
from landmark.data.points import GaussianConfig, PointSamples
from landmark.engine.assembly import Assembly
from landmark.engine.interruption import InterruptedTraining, signals_told
from landmark.engine.run import Run
from landmark.engine.session import open_session
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.task import RunConfig
from tests.engine.test_session import assert_same_run

CPU = torch.device("cpu")
SAMPLES = PointSamples(GaussianConfig(batch_size=7, batches=5), seed=3)


class Line(Objective):
    """Least squares, which can send its own process a signal at an update."""

    def __init__(self, seed=0, signal_at=None):
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.2), nn.Linear(3, 1))
        self.players, self.signal_at, self.steps = {"model": self.model}, signal_at, []

    def loss(self, batch):
        return (self.model(batch.noise) - batch.real).square().sum()

    def turns(self, batch, step):
        self.steps.append(step)
        if step == self.signal_at:
            os.kill(os.getpid(), signal.SIGTERM)
        yield Turn("model", self.loss(batch), len(batch.real))

    def measure(self, batch):
        return {"loss": (self.loss(batch).item(), len(batch.real))}


def config_of(**trainer):
    schedule = ScheduleConfig(name="constant", rate=0.02, warmup_steps=0)
    return RunConfig(task="line", schedule=schedule, trainer=trainer)


def inner_session(objective, folder, steps=6):
    """A short training that keeps nothing but what it needs to go on."""
    config = config_of(max_steps=steps, log_every=2)
    assembly = Assembly(objective, optimizers_for(config, objective), Loader(SAMPLES))
    session = open_session(config, assembly, folder, CPU, save_seconds=60.0)
    session.resume("auto")
    return session


class Search:
    """Trains a network of its own whenever it is asked: as an evaluator, or for each batch."""

    def __init__(self, folder, signal_at=None):
        self.folder, self.signal_at = folder, signal_at or (None, None)
        self.visits = []

    def train(self, name, seed):
        torch_state = torch.get_rng_state()
        objective = Line(seed, self.signal_at[1] if name == self.signal_at[0] else None)
        session = inner_session(objective, self.folder / f"inner-{name}")
        self.visits.append((name, objective.steps))
        session.train()
        torch.set_rng_state(torch_state)
        return objective

    def evaluate(self, step, stopping):
        found = self.train(step, seed=step)
        return {"found": sum(p.sum().item() for p in found.model.parameters())}

    def stream(self, start):
        number = start.batch
        while True:
            found = self.train(number, seed=number)
            with torch.no_grad():
                noise = torch.randn(6, 4)
                points = found.model.eval()(noise)
            yield [AdversarialBatch(points, noise, epoch=0, index=number)]
            number += 1

    def batches_per_epoch(self):
        return None

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        assert state == {}


def outer_session(folder, way, signal_at=None):
    search = Search(folder, signal_at)
    config = config_of(max_steps=6, log_every=1, validate_every=2, checkpoint_every=3)
    objective = Line()
    optimizers = optimizers_for(config, objective)
    validation = Loader(SAMPLES)
    if way == "evaluator":
        assembly = Assembly(objective, optimizers, Loader(SAMPLES), validation, search.evaluate)
    else:
        assembly = Assembly(objective, optimizers, search, validation)
    return open_session(config, assembly, Run(folder), CPU), search


@pytest.mark.parametrize(
    ("way", "name", "outer_step"),
    [("evaluator", 4, 4), ("source", 4, 4), ("source", 2, 2)],
)
def test_an_interrupted_training_inside_a_training_goes_on_and_so_does_that(
    tmp_path, way, name, outer_step
):
    outer_session(tmp_path / "whole", way)[0].train()
    broken, search = outer_session(tmp_path / "broken", way, signal_at=(name, 3))
    with pytest.raises(InterruptedTraining, match=f"SIGTERM after step {outer_step}"):
        broken.train()
    assert search.visits[-1] == (name, [1, 2, 3])
    assert Run(tmp_path / "broken" / f"inner-{name}").steps() == [3]
    assert Run(tmp_path / "broken").steps()[-1] == outer_step
    again, search = outer_session(tmp_path / "broken", way)
    again.resume("auto")
    again.train()
    assert search.visits[0] == (name, [4, 5, 6])
    assert_same_run(tmp_path / "whole", tmp_path / "broken", 6)


def test_a_training_stopped_before_its_first_update_leaves_nothing_half_done(tmp_path):
    broken, _ = outer_session(tmp_path / "run", "source", signal_at=(0, 3))
    with pytest.raises(InterruptedTraining, match="after step 0"):
        broken.train()
    assert Run(tmp_path / "run").steps() == []
    again, search = outer_session(tmp_path / "run", "source")
    again.resume("auto")
    again.train()
    assert search.visits[0] == (0, [4, 5, 6])  # the inner one had saved itself
    outer_session(tmp_path / "whole", "source")[0].train()
    assert_same_run(tmp_path / "whole", tmp_path / "run", 6)


def test_one_that_begins_after_the_signal_is_told_at_once():
    outer, inner = [], []
    before = signal.getsignal(signal.SIGTERM)
    with signals_told(outer.append):
        os.kill(os.getpid(), signal.SIGTERM)
        assert outer == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) == before  # a second one ends at once
        with signals_told(inner.append):
            assert inner == [signal.SIGTERM]
    with signals_told(inner.append):  # forgotten with the training that it ended
        assert inner == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) == before


def test_only_what_is_needed_to_go_on_is_saved_where_no_checkpoint_is_kept(tmp_path):
    session = inner_session(Line(), tmp_path / "quick")
    session.train()
    assert session.run.steps() == []
    config = config_of(max_steps=6, checkpoint_every=2)
    objective = Line()
    assembly = Assembly(objective, optimizers_for(config, objective), Loader(SAMPLES))
    slow = open_session(config, assembly, tmp_path / "slow", CPU, save_seconds=0.0)
    slow.train()
    assert slow.run.steps() == [2, 4, 6]
