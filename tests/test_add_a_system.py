"""A system in a folder of its own, here tests/toy, gets all that the package's own have."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import landmark
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import MODEL
from landmark.tasks.card import CARDS, register
from landmark.tasks.catalog import RECIPES, SYSTEMS
from landmark.tasks.fine_tuning import INITIAL
from tests.engine.test_session import assert_same_run

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def toy():
    """The toy's card beside the package's own, for this module; its recipe and system go, too."""
    from tests.toy.card import CARD

    register(CARD)
    yield CARD
    for registry in (CARDS, RECIPES, SYSTEMS):
        registry._entries.pop("corridor", None)


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Run a command line in an empty folder; its exit code and what it printed."""
    from landmark.cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def train(folder, *words, killed_at=0):
    """In a process of its own, as a user does."""
    environment = os.environ | {"TOY_KILLED_AT": str(killed_at), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "tests.toy", "train", "corridor", *words, "--run", folder]
    return subprocess.run(
        line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of the toy, with a data option of its own."""
    folder = tmp_path_factory.mktemp("toy") / "corridor"
    answer = train(folder, "--start", "0.5")
    assert answer.returncode == 0, answer.stderr
    assert "games begin at 0.5" in answer.stderr
    return folder


def test_a_kill_costs_nothing(trained, tmp_path):
    folder = tmp_path / "killed"
    assert train(folder, "--start", "0.5", killed_at=7).returncode == -9
    assert Run(folder).steps() == [4, 5]  # 5 was the best so far
    assert train(folder, "--start", "0.5", "--resume").returncode == 0
    assert_same_run(trained, folder, 12)


def test_it_is_loaded_and_evaluated(trained, command):
    walker = landmark.load(trained)
    assert len(walker.walk(0.5, 4)) == 5
    code, said, _ = command("evaluate", trained, "--games", 2, "--json")
    assert code == 0
    reward = json.loads(said)["reward"]
    assert command("evaluate", trained, "--games", 2)[1] == f"reward {reward:.4f}\n"


def test_its_verb_shares_a_word_with_a_real_task(trained, command, tmp_path):
    code, said, _ = command("generate", trained, "0.5", "1", "--length", 2, "--json")
    assert code == 0
    places = [json.loads(line)["places"] for line in said.splitlines()]
    assert places[0] == landmark.load(trained).walk(0.5, 2)
    (tmp_path / "starts").write_text("0.1\nfar\n0.2\n")
    code, said, error = command("generate", trained, "--file", tmp_path / "starts")
    assert (code, said.splitlines()[1]) == (0, "")
    assert "starts:2: 'far' is no place: skipped" in error
    assert command("generate", trained, "--file", tmp_path / "starts", "--strict")[0] == 2
    code, said, _ = command("generate", trained, "0.5", "--paths", "paths.csv")
    with (tmp_path / "paths.csv").open() as file:
        assert len(next(csv.reader(file))) == 5


def test_flags_of_another_task_are_refused_with_those_that_fit(trained, command):
    code, _, error = command("generate", trained, "0.5", "--top-k", 3)
    assert code == 2
    assert error.startswith("landmark: --top-k does not fit")
    assert "it takes --checkpoint, --device, --length, --paths, --wind" in error
    code, _, error = command("train", "corridor", "--data", "folder")
    assert (code, "it takes --start" in error) == (2, True)


def test_its_command_needs_no_run(command):
    assert command("corridor-rules", "--shout") == (0, "STAY NEAR THE MIDDLE\n", "")


def test_it_is_exported_and_drawn(trained, command, tmp_path):
    code, said, _ = command("export", trained, "--to", "policy", "--rows", 3)
    assert code == 0
    assert len((Path(said.strip()) / "policy.csv").read_text().splitlines()) == 3
    code, said, _ = command("figure", "corridor", "--run", trained, "--json")
    assert code == 0
    assert len(json.loads(said)["values"]) == 9
    assert (tmp_path / "corridor.png").stat().st_size > 1000


def test_it_is_begun_from(trained, command, tmp_path):
    code, _, _ = command("train", "corridor", "--init-from", trained, "--run", tmp_path / "tuned")
    assert code == 0
    begun = load_tensors(tmp_path / "tuned" / INITIAL, MODEL)
    actor = landmark.load(trained).actor.state_dict()
    assert all(torch.equal(begun[f"actor.{name}"], tensor) for name, tensor in actor.items())
    code, _, error = command("train", "gan-gaussian", "--init-from", trained)
    assert (code, "cannot begin from it" in error) == (2, True)


def test_it_stands_in_the_lists(command):
    assert "corridor" in command("list")[1]
    assert "corridor-rules" in command("--help")[1]
    assert "start:" in command("recipe", "corridor")[1]
