import pytest

from landmark.core.errors import UserError
from landmark.racing.entry import SHORT_STEPS, choose_racers, enter_problem, enter_recipe
from landmark.racing.races import RACES


def test_a_race_of_the_paper_is_short_unless_it_is_to_be_full():
    short, full = enter_recipe("race-cifar"), enter_recipe("race-cifar", full=True)
    race = RACES["race-cifar"]
    assert (short.steps, full.steps) == (race.steps, race.full_steps)
    assert short.config.model.widths == (16, 16, 32)
    assert full.config.model.widths == (64, 64, 128)
    own = enter_recipe("race-cifar", ["model.widths=[8, 8, 8]"], steps=7)
    assert own.config.model.widths == (8, 8, 8)
    assert (own.steps, own.config.trainer.max_steps) == (7, 7)


def test_any_other_recipe_gets_all_methods_in_their_published_form():
    entry = enter_recipe("bert-sst2")
    assert entry.steps == SHORT_STEPS
    racers = choose_racers(entry.race, None)
    assert {"sgd", "adam", "adadelta"} <= {racer.name for racer in racers}
    assert all('"weight_decay": 0.01' in racer.settings[0] for racer in racers)  # the recipe's own
    assert next(racer for racer in racers if racer.name == "adam").rates == (1e-4, 1e-3, 0.01, 0.1)
    assert enter_recipe("gan-gaussian", full=True).steps == 2000
    own = {racer.name for racer in enter_problem("module:factory").race.racers}
    assert own == {racer.name for racer in racers} | {"lbfgs"}


def test_the_papers_schedule_of_the_transformer_is_raced_by_its_peak():
    assert enter_recipe("transformer-base-wmt14").config.schedule.name == "inverse-sqrt"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("seed=3", "--seeds says how many"),
        ("optimizer.name=adam", "--methods names them"),
        ("schedule.rate=1", "--rates names them"),
        ("trainer.max_steps=5", "--steps is that"),
    ],
)
def test_what_the_race_sets_is_not_to_be_set(setting, said):
    with pytest.raises(UserError, match=said):
        enter_recipe("race-logistic", [setting])
    with pytest.raises(UserError, match=said):
        enter_problem("module:factory", [setting])


def test_a_wrong_name_or_key_is_told_the_nearest():
    with pytest.raises(UserError, match="did you mean race-logistic"):
        enter_recipe("race-logistik")
    with pytest.raises(UserError, match=r"unknown key 'model\.dropuot': did you mean dropout"):
        enter_recipe("race-mlp", ["model.dropuot=0.1"])
    race = RACES["race-logistic"]
    with pytest.raises(UserError, match="unknown method 'adma': did you mean"):
        choose_racers(race, ["adma"])
    assert [racer.name for racer in choose_racers(race, ["sgd", "adam", "sgd"])] == ["sgd", "adam"]
