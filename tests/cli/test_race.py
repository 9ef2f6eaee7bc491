"""`landmark race`: a table, a figure and a file; mistakes in one line."""

import json
import sys

import pytest

from landmark.racing.result import read_result

LINE = """
import torch
from torch import nn


class Line:
    def __init__(self, seed):
        self.parameters = [nn.Parameter(torch.tensor(1.0 + seed))]

    def loss(self, step):
        return self.parameters[0].square()

    def validate(self):
        return self.parameters[0].square()
"""


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """A parabola in the current folder."""
    (tmp_path / "cli_line.py").write_text(LINE)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield "cli_line:Line"
    sys.path[:] = path
    sys.modules.pop("cli_line", None)


def words(problem, *more):
    short = ["--steps", "6", "--rates", "0.1,0.4", "--jobs", "1"]
    return ["race", "--problem", problem, "--methods", "sgd,adam", *short, *more]


def test_a_race_leaves_a_table_a_figure_and_a_file(command, problem, tmp_path):
    answer = command(*words(problem))
    assert answer.code == 0, answer.err
    header, first, second, edges, figure = answer.lines
    assert header.split() == [
        "method",
        "rate",
        "loss",
        "band",
        "training",
        "updates",
        "seconds",
        "diverged",
    ]
    result = read_result(tmp_path / "races" / "cli_line-Line")
    best, worse = result.ranked()
    assert best.loss < worse.loss
    assert first.split()[0] == best.method == "sgd"  # (1 - 2 * 0.4)^12 of 4, 9 and 16
    assert first.split()[1] == "0.4>"
    assert second.split()[0] == "adam"
    assert edges.startswith("< and >")
    assert figure == "races/cli_line-Line/race.png"
    assert (tmp_path / figure).read_bytes().startswith(b"\x89PNG")
    assert best.loss == pytest.approx(9 * 0.2**12, rel=1e-3)
    assert "1/8 sgd, rate 0.1, seed 1: loss " in answer.err
    assert "8/8 adam" in answer.err


def test_the_same_as_json(command, problem, tmp_path):
    answer = command(*words(problem, "--json", "--run", "mine", "--seeds", "1"))
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert record["figure_file"] == "mine/race.png"
    assert record["seeds"] == 1
    (sgd, adam) = record["standings"]
    assert (sgd["method"], sgd["rate"], sgd["edge"]) == ("sgd", 0.4, "high")
    assert [finish["rate"] for finish in adam["search"]] == [0.1, 0.4]
    saved = json.loads((tmp_path / "mine" / "race.json").read_text())
    assert saved == {key: value for key, value in record.items() if key != "figure_file"}


def test_a_race_that_is_not_there_is_not_resumed(mistake, problem, tmp_path):
    said = mistake(*words(problem, "--resume"))
    assert said.endswith("there is no such race: omit --resume to start one")
    assert not list(tmp_path.rglob("race.json"))


def test_a_held_race_is_shown_again_by_resume(command, problem):
    first = command(*words(problem))
    assert "exists: continue with --resume" in command(*words(problem)).err
    again = command(*words(problem, "--resume"))
    assert again.code == 0
    assert again.out == first.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["race"], "race needs a recipe, as race-logistic, or --problem my_module:factory"),
        (["race", "race-logistik"], "did you mean race-logistic"),
        (["race", "race-logistic", "--methods", "adma"], "unknown method 'adma': did you mean"),
        (["race", "race-logistic", "--methods", "adam,,sgd"], "with commas between them"),
        (["race", "race-logistic", "--rates", "0.1,0"], "a learning rate of 0 is not valid"),
        (["race", "race-logistic", "--rates", "-1"], "a learning rate of -1 is not valid"),
        (["race", "race-logistic", "--rates", "fast"], "not a list of numbers"),
        (["race", "race-logistic", "seed=4"], "the race sets seed"),
        (["race", "race-logistic", "--seeds", "0"], "--seeds"),
        (["race", "race-logistic", "--jobs", "0"], "--jobs"),
        (["race", "race-mlp", "model.widht=3"], "unknown key 'model.widht'"),
        (["race", "race-mlp", "--problem", "a:b"], "takes no recipe"),
        (["race", "--problem", "a:b", "--full"], "--full is only for the paper's races"),
        (["race", "--problem", "nowhere_to_be:found"], "cannot be imported: ModuleNotFoundError"),
        (["race", "--problem", "shapeless:Vector"], "is not a scalar: its shape is (2,)"),
        (["race", "--problem", "shapeless:Empty"], "has no parameters"),
        (["race", "race-logistic", "--run", "elsewhere"], "is neither empty nor a race"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_written(
    mistake, tmp_path, monkeypatch, given, said
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "letter.txt").touch()
    vector = LINE.replace("class Line", "class Vector").replace(
        "torch.tensor(1.0 + seed)", "torch.ones(2)"
    )
    empty = LINE.replace("class Line", "class Empty").replace(
        "[nn.Parameter(torch.tensor(1.0 + seed))]", "[]"
    )
    (tmp_path / "shapeless.py").write_text(vector + empty)
    before = sorted(tmp_path.iterdir())
    assert said in mistake(*given)
    sys.modules.pop("shapeless", None)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "__pycache__"] == before


def test_a_folder_of_another_race_is_refused(command, mistake, problem):
    assert command(*words(problem, "--run", "mine")).code == 0
    said = mistake("race", "race-logistic", "--run", "mine", "--resume")
    assert "mine: is a race of cli_line:Line, not of race-logistic" in said
