import math
from itertools import pairwise

import pytest

from landmark.racing.races import RACES, Competitor, Race
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.training import resolve

load_catalog()


@pytest.mark.parametrize("name", sorted(RACES))
def test_every_racer_is_a_checked_configuration_of_its_recipe(name):
    race = RACES[name]
    assert race.recipe == name
    assert RECIPES[name].system == "adam"
    for racer in race.racers:
        for steps, short in ((race.steps, race.short), (race.full_steps, ())):
            settings = race.overrides(racer, racer.rate, 7, steps)
            config = resolve(name, [*short, *settings])
            assert config.schedule.rate == racer.rate
            assert config.seed == 7
            assert config.trainer.max_steps == round(steps / racer.pace)
            assert config.trainer.validate_every <= config.trainer.max_steps
            assert config.trainer.patience is None


def test_all_races_of_the_paper_are_there():
    assert set(RACES) == {name for name in RECIPES if RECIPES[name].system == "adam"}


@pytest.mark.parametrize("name", sorted(RACES))
def test_names_of_racers_are_given_once(name):
    names = [racer.name for racer in RACES[name].racers]
    assert len(names) == len(set(names)) >= 4
    assert any(racer.startswith("adam") for racer in names)


def test_rates_are_four_in_even_steps_of_a_logarithm():
    rates = Competitor("adam", (), 2e-3).rates
    assert rates == (2e-4, 6e-4, 2e-3, 6e-3)
    steps = [math.log10(after / before) for before, after in pairwise(rates)]
    assert all(abs(step - 0.5) < 0.03 for step in steps)
    for race in RACES.values():
        for racer in race.racers:
            steps = [math.log10(after / before) for before, after in pairwise(racer.rates)]
            assert len(steps) == 3
            assert max(steps) - min(steps) < 0.05, racer


def test_a_racer_whose_updates_cost_more_makes_fewer():
    slow = Competitor("lbfgs", ("optimizer.name=lbfgs",), 1.0, pace=40)
    race = Race("race-mlp", "", 400, 4000, (slow,))
    assert "trainer.max_steps=10" in race.overrides(slow, 1.0, 1, 400)
    assert "trainer.max_steps=1" in race.overrides(slow, 1.0, 1, 3)


def test_sparse_gradients_go_to_the_methods_that_take_them():
    sparse = {
        racer.name
        for racer in RACES["race-bag-of-words"].racers
        if resolve("race-bag-of-words", racer.settings).model.sparse
    }
    assert sparse == {"sgd", "momentum", "nesterov", "adagrad"}
