import json
import sys

import pytest
import torch
import yaml

from landmark.cli.main import _command, _options, run
from landmark.tasks.card import CARDS

WITHOUT = {"list", "show", "recipe", "average", "runs", "data", "doctor"}
"""Commands that compute nothing."""


def test_every_command_that_computes_takes_threads():
    commands = _command(tuple(CARDS)).commands
    without = {name for name, one in commands.items() if "--threads" not in _options(one)}
    assert without <= WITHOUT
    for group in ("figure", "import"):
        for name, one in commands[group].commands.items():
            assert "--threads" in _options(one), f"{group} {name}"


def test_a_verb_computes_with_as_many_threads_as_it_is_told(tiny_run, monkeypatch, capsys):
    from landmark.tasks.searching import TorchEngine

    seen = []
    search = TorchEngine.search

    def noted(*values):
        seen.append(torch.get_num_threads())
        return search(*values)

    monkeypatch.setattr(TorchEngine, "search", noted)
    before = torch.get_num_threads()
    assert run(["translate", str(tiny_run), "The dog sleeps.", "--threads", "3"]) == 0
    assert run(["translate", str(tiny_run), "The dog sleeps."]) == 0
    assert seen == [3, before]
    capsys.readouterr()
    assert run(["translate", str(tiny_run), "The dog sleeps.", "--threads", "0"]) == 2
    assert "--threads" in capsys.readouterr().err


def test_a_training_writes_down_the_threads_it_was_told(tmp_path, tiny):
    before = torch.get_num_threads()
    settings = [one for one in tiny if not one.startswith("threads")]
    folder = tmp_path / "run"
    command = ["train", "transformer-embedded", *settings, "--run", str(folder), "threads=1"]
    assert run([*command, "--threads", "2"]) == 0  # the flag comes last
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
    assert (recipe["threads"], recipe["environment"]["threads"]) == (2, 2)
    assert torch.get_num_threads() == before


COUNTING = """
from pathlib import Path

import torch
from torch import nn


class Counting:
    def __init__(self, seed):
        self.parameters = [nn.Parameter(torch.ones(()))]

    def loss(self, step):
        with Path("threads.txt").open("a") as file:
            file.write(f"{torch.get_num_threads()}\\n")
        return self.parameters[0].square()

    def validate(self):
        return self.parameters[0].square()
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_trainings_of_a_race_have_the_threads_it_was_told(tmp_path, monkeypatch, jobs):
    (tmp_path / "counting.py").write_text(COUNTING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    few = ["--methods", "sgd", "--rates", "0.1", "--seeds", "1", "--steps", "2", "--jobs", jobs]
    assert run(["race", "--problem", "counting:Counting", *few, "--threads", "3"]) == 0
    assert set((tmp_path / "threads.txt").read_text().split()) == {"3"}
    result = json.loads((tmp_path / "races" / "counting-Counting" / "race.json").read_text())
    assert result["environment"]["threads"] == 3
