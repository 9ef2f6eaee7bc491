"""A training that a validation finds to have failed: it warns, stops, or goes back."""

import pytest

from landmark.core.errors import TrainingError
from landmark.engine.run import Run
from landmark.tasks.image_generation import run as room
from landmark.tasks.training import train
from tests.engine.test_session import assert_same_run, stop_after

SMALL = [
    "data.corpus=digits",
    "model.image_size=16",
    "model.width=2",
    "noise.noise_size=4",
    "batches.size=32",
    "judge.samples=32",
    "trainer.max_steps=8",
    "trainer.log_every=1",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "threads=1",
    "device=cpu",
]


@pytest.fixture
def collapsing(monkeypatch):
    """The training seems to collapse at some steps, as long as it has its full rate."""

    def collapse(*steps, halves=1):
        def diagnose(state, metrics):
            return "it fails" if state.step in steps and state.rollbacks < halves else None

        monkeypatch.setattr(room, "diagnose", diagnose)

    return collapse


def fit(folder, *settings, **words):
    return train("dcgan-mnist", folder, [*SMALL, *settings], **words).folder


def kinds(folder, *wanted):
    return [(r["kind"], r["step"]) for r in Run(folder).read_log() if r["kind"] in wanted]


def test_by_default_it_warns_and_goes_on(tmp_path, collapsing):
    collapsing(4, 6)
    folder = fit(tmp_path / "run")
    assert kinds(folder, "collapse", "end") == [("collapse", 4), ("collapse", 6), ("end", 8)]


def test_it_stops_and_says_which_checkpoint_is_best(tmp_path, collapsing):
    collapsing(4)
    with pytest.raises(TrainingError, match=r"stopped at step 4: it fails; the best .* step [24]"):
        fit(tmp_path / "run", "trainer.on_collapse=stop")
    assert Run(tmp_path / "run").find_checkpoint()


def test_it_goes_back_to_the_best_checkpoint_with_half_the_rate(tmp_path, collapsing):
    collapsing(6)
    folder = fit(tmp_path / "run", "trainer.on_collapse=rollback")
    records = list(Run(folder).read_log())
    (back,) = [r for r in records if r["kind"] == "rollback"]
    assert back["from"] == 6
    rates = {r["step"]: r["generator_rate"] for r in records if r["kind"] == "train"}
    assert rates[back["step"]] == pytest.approx(2 * rates[8])
    assert [r["step"] for r in records if r["kind"] == "train"] == list(range(1, 9))


def test_a_run_that_goes_back_is_bit_equal_when_it_is_broken_off(tmp_path, collapsing, monkeypatch):
    collapsing(6)
    whole = fit(tmp_path / "whole", "trainer.on_collapse=rollback")
    for step in (5, 7):
        folder = tmp_path / f"broken-{step}"
        with monkeypatch.context() as patch:
            stop_after(patch, step)
            with pytest.raises(RuntimeError, match="crash"):
                fit(folder, "trainer.on_collapse=rollback")
        fit(folder, "trainer.on_collapse=rollback", resume="auto")
        assert_same_run(whole, folder, 8)


def test_it_gives_up_after_three_rollbacks_or_without_a_checkpoint(tmp_path, collapsing):
    collapsing(6, 8, halves=99)
    with pytest.raises(TrainingError, match="after 3 rollbacks: it fails"):
        fit(tmp_path / "again", "trainer.on_collapse=rollback")
