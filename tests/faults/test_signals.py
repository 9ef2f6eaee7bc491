"""SIGINT and SIGTERM, to the whole process group, at every kind of moment."""

import signal

import pytest

from benchmarks.faults.signals import MOMENTS, PREPARATION, SIGNALS, WORKERS, new_trial, signalled
from benchmarks.faults.trial import compare, leftovers
from landmark.engine.checkpoint import read_facts
from landmark.engine.session import InterruptedTraining


@pytest.fixture(scope="module")
def whole(compiler, tmp_path_factory):
    """Undisturbed runs, by number of workers."""
    trials = {w: new_trial(tmp_path_factory.mktemp("whole"), w) for w in WORKERS}
    for trial in trials.values():
        trial.finish()
    return trials


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_batch_is_finished_all_is_saved_and_no_step_is_lost(
    whole, tmp_path, moment, number, workers
):
    trial = new_trial(tmp_path, workers)
    answer = signalled(trial, MOMENTS[moment], number)
    step = MOMENTS[moment].saved
    assert answer.code == InterruptedTraining(number, step).exit_code, answer.said
    assert answer.seconds < 10
    assert f"stopped by {signal.Signals(number).name} after step {step}, all saved" in answer.said
    assert "Traceback" not in answer.said
    assert read_facts(trial.run.find_checkpoint("latest"))["step"] == step
    trial.finish()
    compare(whole[workers], trial)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", ["training", "saving"])
def test_a_second_signal_ends_at_once_and_the_run_still_goes_on(
    whole, tmp_path, moment, number, workers
):
    trial = new_trial(tmp_path, workers)
    answer = signalled(trial, MOMENTS[moment], number, twice=True)
    assert answer.code == 128 + number
    assert answer.seconds < 5
    assert "Traceback" not in answer.said
    trial.finish()
    compare(whole[workers], trial)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_preparation_leaves_nothing_half_done(whole, tmp_path, number):
    trial = new_trial(tmp_path, 0)
    answer = signalled(trial, PREPARATION, number)
    assert answer.code == 128 + number
    assert answer.seconds < 10
    assert not leftovers(trial.run)
    trial.finish()
    compare(whole[0], trial)
