"""Scores that are no mean over batches stand beside those that are."""

import pytest
import torch

from landmark.core.errors import TrainingError
from landmark.engine.interruption import InterruptedTraining
from landmark.engine.run import Run
from tests.engine.replay import Games, session_of
from tests.engine.test_session import assert_same_run
from tests.engine.test_trainer import Regression, trainer_of


def test_its_numbers_are_logged_and_decide_which_is_best(tmp_path):
    session = session_of(tmp_path / "run")
    games = session.trainer.assembly.evaluator
    session.train()
    log = [r for r in Run(tmp_path / "run").read_log() if r["kind"] == "valid"]
    assert [record["step"] for record in log] == [5, 10, 12]
    assert [visit["step"] for visit in games.seen] == [5, 10, 12]
    best = max(log, key=lambda record: record["reward"])
    assert Run(tmp_path / "run").pointed("best").name == f"step-{best['step']:06d}"


def test_it_meets_players_at_rest_with_the_average_in_place(tmp_path):
    session = session_of(tmp_path / "run", ema_decay=0.99)
    live = session.trainer.objective.actor[0].weight
    seen = session.trainer.assembly.evaluator.seen
    for state in session.trainer.fit():
        assert session.trainer.objective.actor.training
        if state.step == 5:
            average = session.trainer.average.average["actor.0.weight"]
            assert torch.equal(seen[-1]["weight"], average)
            assert not torch.equal(live, average)
    assert [visit["training"] for visit in seen] == [False] * 3


def test_it_joins_the_metrics_of_held_out_batches():
    records = []
    trainer = trainer_of(Regression(), report=records.append, validate_every=4)
    alone = [(r["step"], r["loss"]) for r in validated(trainer, records)]
    records.clear()
    trainer = trainer_of(
        Regression(),
        report=records.append,
        validate_every=4,
        monitor="bleu",
        higher_is_better=True,
        evaluator=lambda step, stopping: {"bleu": 40.0 - step},
    )
    both = validated(trainer, records)
    assert [(r["step"], r["loss"]) for r in both] == alone
    assert [(r["bleu"], r["best"]) for r in both] == [(36.0, True), (32.0, False)]


def validated(trainer, records):
    list(trainer.fit())
    return [record for record in records if record["kind"] == "valid"]


def test_a_name_that_both_have_is_refused():
    trainer = trainer_of(
        Regression(), validate_every=1, evaluator=lambda step, stopping: {"loss": 0.0}
    )
    with pytest.raises(TrainingError, match="the evaluator's 'loss' is also a metric"):
        list(trainer.fit())


def test_a_score_that_is_not_there_to_monitor_names_those_that_are():
    trainer = trainer_of(
        Regression(), validate_every=1, monitor="fid", evaluator=lambda step, stopping: {"bleu": 1}
    )
    with pytest.raises(TrainingError, match="is 'fid', but validation gives loss, bleu"):
        list(trainer.fit())


class Stopped(Games):
    """Is told to stop while it evaluates step 5, once."""

    session = None

    def __call__(self, step, stopping):
        if step == 5 and self.session:
            self.session.signal, self.session = 15, None
        return None if stopping() else super().__call__(step, stopping)


def test_broken_off_it_is_done_again_when_the_training_goes_on(tmp_path):
    session_of(tmp_path / "whole").train()
    session = session_of(tmp_path / "run")
    games = Stopped(session.trainer.objective.actor)
    broken = session_of(tmp_path / "run", games)
    games.actor, games.session = broken.trainer.objective.actor, broken
    with pytest.raises(InterruptedTraining, match="after step 5"):
        broken.train()
    assert [r["kind"] for r in Run(tmp_path / "run").read_log()] == ["train"]
    resumed = session_of(tmp_path / "run")
    resumed.resume("auto")
    assert resumed.trainer.state.validating
    resumed.train()
    assert_same_run(tmp_path / "whole", tmp_path / "run", 12)


def test_the_average_of_the_last_checkpoints_is_evaluated_with_gradients_at_hand(tmp_path):
    class Learning(Games):
        """Descends on a copy of its own before it plays, as a search would."""

        def __call__(self, step, stopping):
            copy = torch.nn.Linear(1, 1)
            copy(torch.ones(1, 1)).sum().backward()
            assert copy.weight.grad is not None
            return super().__call__(step, stopping)

    games = Learning(torch.nn.Identity())
    session = session_of(tmp_path / "run", games, average_last=2)
    games.actor = session.trainer.objective.actor
    session.train()
    assert [visit["step"] for visit in games.seen] == [5, 10, 12, 12]
    assert not torch.equal(games.seen[2]["weight"], games.seen[3]["weight"])
