"""The protocol: four rates, the best by validation, its seeds; what was done is not repeated."""

import json
import math

import pytest
import torch

from landmark.core.errors import UserError
from landmark.racing import trial as trials
from landmark.racing.entry import enter_problem, enter_recipe
from landmark.racing.race import hold_race
from landmark.racing.result import read_result

METHODS = ["sgd", "adam"]
RATES = [0.003, 0.03, 0.1, 3.0]


def race(problem, folder, **options):
    entry = enter_problem(problem, steps=options.pop("steps", 20))
    options = {"methods": METHODS, "rates": RATES, **options}
    return hold_race(entry, folder, **options)


def test_each_method_goes_on_with_the_rate_that_validates_best(bowl, tmp_path):
    seen = []
    result = race(bowl, tmp_path / "race", report=seen.append)
    assert [standing.method for standing in result.standings] == METHODS
    for standing in result.standings:
        assert [finish.rate for finish in standing.search] == RATES
        assert {finish.seed for finish in standing.search} == {1}
        best = min(standing.search, key=lambda finish: finish.loss)
        assert standing.rate == best.rate
        assert [finish.seed for finish in standing.finishes] == [1, 2, 3]
        assert standing.finishes[0] == best  # the search's own training is the first seed's
        losses = sorted(finish.loss for finish in standing.finishes)
        assert standing.loss == losses[1]
        assert standing.band == (losses[0], losses[2])
    done = [record["done"] for record in seen if record["kind"] == "trial"]
    assert done == list(range(1, 13))  # 2 methods of 4 rates and 2 more seeds each
    assert all(record["total"] == 12 for record in seen)


def test_a_trial_is_what_torch_does_by_hand(bowl, tmp_path):
    result = race(bowl, tmp_path / "race", methods=["adam"], rates=[0.03], seeds=1)
    from bowl_problem import Bowl

    from landmark.core.runtime import derive_seed

    torch.manual_seed(1)
    problem = Bowl(1)
    optimizer = torch.optim.Adam(problem.parameters, lr=0.03)
    for step in range(1, 21):
        torch.manual_seed(derive_seed(1, "step", step, 0))
        optimizer.zero_grad()
        problem.loss(step).backward()
        optimizer.step()
    assert result.standings[0].loss == pytest.approx(problem.validate().item(), rel=1e-5)


def test_a_training_that_diverges_is_a_result(bowl, tmp_path):
    result = race(bowl, tmp_path / "race", methods=["sgd"], rates=[0.01, 5.0], steps=60)
    (sgd,) = result.standings
    assert sgd.rate == 0.01
    lost = sgd.search[1]
    assert math.isinf(lost.loss)
    assert 1 < lost.diverged_at < 60
    assert sgd.diverged == 1
    record = json.loads((tmp_path / "race" / "race.json").read_text())
    assert record["standings"][0]["search"][1]["loss"] is None
    assert math.isfinite(sgd.loss)
    everything = race(bowl, tmp_path / "all", methods=["sgd"], rates=[5.0], steps=60)
    assert math.isinf(everything.standings[0].loss)
    assert everything.standings[0].diverged == 3
    assert read_result(tmp_path / "all") == everything


def test_the_result_is_read_as_it_was_written(bowl, tmp_path):
    result = race(bowl, tmp_path / "race")
    assert read_result(tmp_path / "race") == result
    curve = result.standings[1].valid
    assert curve.steps == list(range(2, 21, 2))
    assert all(
        low <= middle <= high
        for low, middle, high in zip(curve.low, curve.median, curve.high, strict=True)
    )
    assert curve.median[-1] == result.standings[1].loss
    assert curve.seconds == sorted(curve.seconds)
    assert result.environment["threads"] == 1
    with pytest.raises(UserError, match="no finished race"):
        read_result(tmp_path)
    (tmp_path / "race" / "race.json").write_text('{"standings": 3}')
    with pytest.raises(UserError, match="is damaged"):
        read_result(tmp_path / "race")


def test_what_has_finished_is_not_repeated_and_more_can_be_asked_for(bowl, tmp_path, monkeypatch):
    first = race(bowl, tmp_path / "race", methods=["sgd"], seeds=1)
    run = []
    monkeypatch.setattr(
        "landmark.racing.worker_pool.run_trial",
        lambda trial: (run.append(trial.name), trials.run_trial(trial)),
    )
    again = race(bowl, tmp_path / "race", methods=["sgd"], seeds=1, resume=True)
    assert run == []
    assert again == first
    more = race(bowl, tmp_path / "race", methods=["sgd"], seeds=2, resume=True)
    assert run == [f"sgd, rate {first.standings[0].rate:g}, seed 2"]
    assert more.standings[0].finishes[0] == first.standings[0].finishes[0]


def test_trials_leave_a_recipe_and_a_log_but_no_weights(bowl, tmp_path):
    race(bowl, tmp_path / "race", methods=["adam"], rates=[0.03], seeds=1)
    folder = tmp_path / "race" / "trials" / "adam" / "rate-0.03" / "seed-1"
    assert {path.name for path in folder.iterdir()} == {"recipe.yaml", "log.jsonl", "lock"}


def test_processes_side_by_side_find_the_same(bowl, tmp_path):
    alone = race(bowl, tmp_path / "alone", rates=[0.01, 0.1], seeds=2)
    together = race(bowl, tmp_path / "together", rates=[0.01, 0.1], seeds=2, jobs=2)

    def losses(result):
        return [
            (finish.rate, finish.seed, finish.loss, finish.train_loss)
            for standing in result.standings
            for finish in (*standing.search, *standing.finishes)
        ]

    assert losses(together) == losses(alone)
    assert together.environment["jobs"] == 2


def test_a_line_search_takes_a_users_problem_in_fewer_updates(bowl, tmp_path):
    result = race(bowl, tmp_path / "race", methods=["lbfgs"], rates=[1.0], seeds=1, steps=24)
    (lbfgs,) = result.standings
    assert (lbfgs.updates, lbfgs.pace) == (2, 12)
    # The least of a quadratic around the second update's noise: 0.1 * e, so this is 0.01 Σ s e².
    from landmark.core.runtime import derive_seed

    torch.manual_seed(derive_seed(1, "step", 2, 0))
    noise = torch.randn(3)
    expected = (torch.tensor([1.0, 3.0, 10.0]) * (0.1 * noise).square()).sum().item()
    assert lbfgs.loss == pytest.approx(expected, rel=1e-2)


def test_any_recipe_can_be_raced(tmp_path):
    entry = enter_recipe("lenet5-digits", ["batches.size=16", "device=cpu"], steps=4)
    result = hold_race(entry, tmp_path / "race", methods=["adamw"], rates=[1e-3], seeds=2)
    (standing,) = result.standings
    assert standing.updates == 4
    assert 0 < standing.finishes[0].metrics["accuracy"] < 1
    assert len({finish.loss for finish in standing.finishes}) == 2


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(bowl, tmp_path, rate):
    with pytest.raises(UserError, match="is not valid: give numbers above 0"):
        race(bowl, tmp_path / "race", rates=[0.1, rate])
    assert not (tmp_path / "race").exists()


def test_an_unknown_method_is_told_the_nearest(bowl, tmp_path):
    with pytest.raises(UserError, match="unknown method 'adamm': did you mean adam"):
        race(bowl, tmp_path / "race", methods=["sgd", "adamm"])


def test_a_folder_of_something_else_is_refused_and_left_alone(bowl, module, tmp_path):
    race(bowl, tmp_path / "race", methods=["sgd"], seeds=1)
    with pytest.raises(UserError, match="exists: continue with --resume"):
        race(bowl, tmp_path / "race", methods=["sgd"])
    with pytest.raises(UserError, match=r"started with trainer\.max_steps=20, not 30"):
        race(bowl, tmp_path / "race", steps=30, resume=True)
    module("other", (tmp_path / "bowl_problem.py").read_text())
    with pytest.raises(UserError, match="is a race of bowl_problem:Bowl, not of other:Bowl"):
        race("other:Bowl", tmp_path / "race", resume=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="is neither empty nor a race"):
        race(bowl, tmp_path / "full", resume=True)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is a file"):
        race(bowl, tmp_path / "file")
    (tmp_path / "race" / "entry.json").write_text("?")
    with pytest.raises(UserError, match="is damaged"):
        race(bowl, tmp_path / "race", resume=True)


def test_a_game_of_two_has_no_loss_to_race_by(tmp_path):
    entry = enter_recipe("gan-gaussian", steps=2)
    with pytest.raises(UserError, match="logs no loss of its own"):
        hold_race(entry, tmp_path / "race", methods=["adam"], rates=[1e-3], seeds=1)
