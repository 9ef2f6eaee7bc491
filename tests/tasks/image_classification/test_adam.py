"""The line search takes part in a race as any other method does."""

import pytest

from landmark.racing.entry import enter_recipe
from landmark.racing.race import hold_race
from landmark.tasks.training import resolve


def test_l_bfgs_and_adam_race_on_the_digits(tmp_path):
    small = ["data.corpus=digits", "model.image_size=8", "model.widths=[20]", "device=cpu"]
    entry = enter_recipe("race-mlp-deterministic", small, steps=96)
    result = hold_race(
        entry, tmp_path / "race", methods=["adam", "lbfgs"], rates=[0.01, 1], seeds=1
    )
    adam, lbfgs = result.standings
    assert (adam.updates, lbfgs.updates) == (96, 2)
    assert lbfgs.pace == 48
    chance = 2.3026
    assert lbfgs.loss < 0.7 * chance
    assert adam.loss < 0.7 * chance


@pytest.mark.parametrize(
    ("name", "step", "rate"), [("race-logistic", 100, 1e-4), ("race-mlp", 100, 1e-3)]
)
def test_the_rate_falls_by_the_root_for_logistic_regression_alone(name, step, rate):
    from landmark.optim.schedule import learning_rate

    config = resolve(name)
    found = learning_rate(config.schedule, step, 1, 1000)
    assert found == pytest.approx(rate)
