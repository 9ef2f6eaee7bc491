"""`landmark figure updates`: a real training, watched."""

import json

import pytest
import torch
from matplotlib.image import imread

from landmark.engine.run import Run


def test_updates_of_a_recipe_are_drawn_printed_and_given_as_json(command, tmp_path):
    picture = tmp_path / "u.png"
    words = ["figure", "updates", "lenet5-digits", "threads=1", "--steps", "6", "--output", picture]
    answer = command(*words)
    assert answer.code == 0, answer.err
    assert answer.lines[0].split("  ")[0] == "median of all steps"
    layers = [line.split()[0] for line in answer.lines[1:-2]]
    assert layers == ["c1", "c3", "c5", "f6", "output"]
    assert answer.lines[-2].startswith("learning rate")
    assert imread(picture).std() > 0
    record = json.loads(command(*words, "--json").out)
    assert [one["layer"] for one in record["layers"]] == layers
    assert {len(one["shares"]) for one in record["layers"]} == {6}
    assert record["method"] == "adamw"
    assert not list(tmp_path.glob("*/"))  # no run is left behind


def test_plain_descent_has_one_effective_rate_which_is_the_schedules(command, tmp_path):
    words = ["optimizer.name=sgd", "optimizer.weight_decay=0", "schedule.rate=0.05", "threads=1"]
    picture = tmp_path / "u.png"
    words = ["updates", "lenet5-digits", *words, "--steps", "4", "--output", picture, "--json"]
    record = json.loads(command("figure", *words).out)
    for one in record["layers"]:
        assert one["rates"] == pytest.approx(record["learning_rates"], rel=0.01)


def test_every_player_of_a_game_is_watched(command, tmp_path):
    words = ["gan-gaussian", "threads=1", "--steps", "3", "--output", tmp_path / "u.png", "--json"]
    record = json.loads(command("figure", "updates", *words).out)
    players = {one["layer"].partition(":")[0] for one in record["layers"]}
    assert players == {"generator", "discriminator"}
    assert {len(one["rates"]) for one in record["layers"]} == {3}


def test_a_runs_own_training_begins_anew(command, tiny_run, tmp_path):
    words = [tiny_run, "--steps", "3", "--output", tmp_path / "u.png", "--json"]
    record = json.loads(command("figure", "updates", *words).out)
    assert record["method"] == "adam"
    assert len(record["layers"]) > 2
    assert Run(tiny_run).steps()[-1] == 12
    assert torch.tensor([one["shares"] for one in record["layers"]]).isfinite().all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lenet5-digts"], "unknown recipe 'lenet5-digts': did you mean lenet5-digits?"),
        (["lenet5-digits", "optimizer.nam=sgd"], "unknown key 'optimizer.nam'"),
        (["lenet5-digits", "optimizer.betas=[0.9,1]"], "optimizer.betas.1"),
        (["lenet5-digits", "--output", "no/u.png"], "there is no folder no"),
    ],
)
def test_mistakes_are_answered_in_one_line(mistake, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert said in mistake("figure", "updates", *words)
