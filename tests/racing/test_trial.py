"""One training of a race: interrupted, it goes on; killed, it begins anew; diverged, it ends."""

import json
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining
from landmark.racing.entry import enter_problem
from landmark.racing.result import read_curve, read_finish
from landmark.racing.trial import Trial, prepare_problem, run_trial

STOPPING = '''
import os
import signal
from pathlib import Path

from bowl_problem import Bowl


class Stopping(Bowl):
    """Sends its own process a signal at the seventh update, once."""

    def loss(self, step):
        if step == 7 and not Path("stopped").exists():
            Path("stopped").touch()
            os.kill(os.getpid(), signal.SIGTERM)
        return super().loss(step)
'''
SETTINGS = (
    "optimizer.name=adam",
    "schedule.rate=0.05",
    "seed=4",
    "trainer.max_steps=12",
    "trainer.log_every=3",
    "trainer.validate_every=4",
    "trainer.checkpoint_every=12",
)


def trial_of(problem: str, folder: Path) -> Trial:
    config = enter_problem(problem, steps=12).config
    prepare_problem(config, folder / "problem", lambda record: None)
    return Trial("adam", 0.05, 4, str(folder / "trial"), str(folder / "problem"), SETTINGS)


def measured(trial: Trial) -> list[dict]:
    """All that is logged but times."""
    timed = ("seconds", "per_second")
    return [
        {key: value for key, value in record.items() if key not in timed}
        for record in trial.records()
    ]


def test_an_interrupted_trial_goes_on_as_if_nothing_had_been(bowl, module, tmp_path):
    module("stopping", STOPPING)
    unbroken, broken = (
        trial_of(problem, tmp_path / problem[:4]) for problem in (bowl, "stopping:Stopping")
    )
    run_trial(unbroken)
    with pytest.raises(InterruptedTraining):
        run_trial(broken)
    assert not broken.is_finished()
    assert Run(Path(broken.folder)).steps() == [7]
    run_trial(broken)
    assert broken.is_finished()
    assert measured(broken) == measured(unbroken)
    assert not Run(Path(broken.folder)).steps()


def test_a_trial_that_was_killed_begins_anew(bowl, tmp_path):
    trial = trial_of(bowl, tmp_path)
    run_trial(trial)
    whole, log = measured(trial), Path(trial.folder) / "log.jsonl"
    log.write_text("".join(f"{line}\n" for line in log.read_text().splitlines()[:2]))
    assert not trial.is_finished()
    run_trial(trial)
    assert measured(trial) == whole


def test_a_trial_of_other_settings_is_refused(bowl, tmp_path):
    trial = trial_of(bowl, tmp_path)
    run_trial(trial)
    other = Trial(
        "adam", 0.05, 4, trial.folder, trial.problem, (*SETTINGS, "optimizer.betas=[0.5, 0.9]")
    )
    with pytest.raises(UserError, match=r"was started with optimizer\.betas=\[0\.9, 0\.999\]"):
        run_trial(other)


def test_where_it_diverged_is_its_last_record(module, bowl, tmp_path):
    module(
        "leaping",
        "from bowl_problem import Bowl\n\n"
        "class Leaping(Bowl):\n"
        "    def loss(self, step):\n"
        "        return super().loss(step) * (float('nan') if step == 5 else 1)\n",
    )
    trial = trial_of("leaping:Leaping", tmp_path / "leaping")
    run_trial(trial)
    assert trial.is_finished()
    last = trial.records()[-1]
    assert (last["kind"], last["step"]) == ("diverged", 5)


def test_a_problem_is_prepared_once_and_kept_apart_from_others(bowl, tmp_path):
    seen = []
    config = enter_problem(bowl, steps=12).config
    prepare_problem(config, tmp_path / "problem", seen.append)
    before = (tmp_path / "problem" / "recipe.yaml").stat().st_mtime_ns
    prepare_problem(config, tmp_path / "problem", seen.append)
    assert (tmp_path / "problem" / "recipe.yaml").stat().st_mtime_ns == before
    other = enter_problem(bowl, ["trainer.clip_norm=1"], steps=12).config
    with pytest.raises(UserError, match=r"started with trainer\.clip_norm=None, not 1\.0"):
        prepare_problem(other, tmp_path / "problem", seen.append)
    (tmp_path / "problem" / "recipe.yaml").unlink()  # not finished: begun anew
    prepare_problem(other, tmp_path / "problem", seen.append)
    assert json.dumps("clip_norm: 1.0")[1:-1] in (tmp_path / "problem/recipe.yaml").read_text()


def test_its_training_loss_is_of_the_last_tenth_of_the_updates_and_not_of_a_left_over_window(
    tmp_path,
):
    trial = Trial("adam", 0.05, 4, str(tmp_path), str(tmp_path), SETTINGS)
    run = Run(tmp_path)
    losses = dict.fromkeys(range(10, 190, 10), 1.0) | {190: 0.5, 200: 0.4, 203: 9.0}
    for step, loss in losses.items():
        run.append_log({"kind": "train", "step": step, "loss": loss, "seconds": 0.1 * step})
    run.append_log({"kind": "end", "step": 203, "seconds": 20.3})
    # a tenth of 203 updates: 3 of the window that was left over, 10 before, and 10 before that
    assert read_finish(trial).train_loss == pytest.approx((3 * 9.0 + 10 * 0.4 + 10 * 0.5) / 23)
    curve = read_curve([trial], "train")
    assert curve.steps[-2:] == [190, 200]  # a point of three updates is noise
    assert curve.median[-1] == 0.4


def test_the_only_window_of_a_short_training_counts(tmp_path):
    trial = Trial("adam", 0.05, 4, str(tmp_path), str(tmp_path), SETTINGS)
    Run(tmp_path).append_log({"kind": "train", "step": 2, "loss": 0.25, "seconds": 0.1})
    Run(tmp_path).append_log({"kind": "end", "step": 2, "seconds": 0.1})
    assert read_finish(trial).train_loss == 0.25
    assert read_curve([trial], "train").steps == [2]
