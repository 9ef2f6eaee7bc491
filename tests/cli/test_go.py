import json
import subprocess
import sys

import pytest

from tests.tasks.go.conftest import KOMI, random_games

pytest.importorskip("numba", reason="pip install 'landmark[go]'")


GAME = "(;SZ[5]KM[3.5]PB[Ann]PW[Bea];B[cc];W[cd];B[dd];W[bc])"
QUICK = "landmark:20,max_nodes=20000"


def test_a_match_prints_its_result_and_keeps_its_games(command, tmp_path):
    words = ["go", "match", QUICK, QUICK, "--games", "2", "--size", "5", "--folder", str(tmp_path)]
    answer = command(*words)
    assert answer.code == 0, answer.err
    assert "of 2 games" in answer.out
    assert "(2/2)" in answer.err
    answer = command(*words, "--json")
    assert json.loads(answer.out)["games"] == 2
    assert "(1/2)" not in answer.err  # nothing was played again


def test_a_review_prints_writes_and_draws(command, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text(GAME)
    figure, output = tmp_path / "rates.png", tmp_path / "reviewed.sgf"
    answer = command(
        "go", "review", str(path), "--simulations", "40", "--figure", str(figure),
        "--output", str(output), "max_nodes=20000",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert len(answer.out.splitlines()) == 5
    assert figure.stat().st_size > 1000
    assert "Black wins" in output.read_text()
    assert (tmp_path / "game.review.json").exists()


def test_a_board_figure_is_printed_and_saved(command, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text(GAME)
    answer = command("figure", "board", str(path), "--output", str(tmp_path / "board.png"))
    assert answer.code == 0, answer.err
    assert "A B C D E" in answer.out
    assert (tmp_path / "board.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["match", "landmark:x", QUICK], "neither simulations nor seconds"),
        (["match", QUICK, "landmark:5,nonsense=1"], "nonsense"),
        (["match", QUICK, QUICK, "--referee", "me"], "--referee me"),
        (["match", QUICK, "no-such-program --gtp"], "is not a program"),
        (["review", "missing.sgf"], "missing.sgf"),
        (["play", "--colour", "red"], "--colour red"),
        (["play", "--handicap", "5", "--size", "6"], "--handicap 5"),
        (["gtp", "rave=-1"], "rave"),
        (["gtp", "selection=puct"], "needs a network"),
        (["gtp", "--size", "30"], "--size"),
    ],
)
def test_mistakes_are_answered_in_one_line(command, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    answer = command("go", *words)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.strip().splitlines()[-1].startswith("landmark: ")


def test_learning_goes_through_the_stages_and_on_where_it_was(command, tmp_path):
    games = random_games(tmp_path / "games")
    words = [
        "go", "learn", "--folder", str(tmp_path / "runs"), "--games", str(games), "data.size=5",
        f"data.komi={KOMI}", "threads=1", "trainer.max_steps=2", "trainer.validate_every=2",
        "batches.size=16", "--stage", "value",
    ]  # fmt: skip
    answer = command(*words)
    assert answer.code == 0, answer.err
    assert "stage value: a value network" in answer.err
    assert (tmp_path / "runs" / "value" / "checkpoints" / "step-000002").is_dir()
    answer = command(*words)
    assert answer.code == 0
    assert answer.err.endswith("value: finished\n")
    answer = command(*words[:-1], "self-play")
    assert answer.code == 2
    assert "goes on with this run, which is not finished" in answer.err


def test_the_rollout_policy_of_a_stage_leads_playouts(command, tmp_path):
    games = random_games(tmp_path / "games")
    words = [
        "go", "learn", "--folder", str(tmp_path / "runs"), "--games", str(games), "data.size=5",
        f"data.komi={KOMI}", "threads=1", "trainer.max_steps=2", "trainer.validate_every=2",
        "batches.size=16", "--stage", "expert", "--stage", "rollout",
    ]  # fmt: skip
    answer = command(*words)
    assert answer.code == 0, answer.err
    path = tmp_path / "runs" / "rollout" / "policy.npz"
    assert answer.out.endswith(f"{path}\n")
    player = f"landmark:30,max_nodes=20000,rollout_policy={path}"
    folder = str(tmp_path / "match")
    words = ["go", "match", player, QUICK, "--games", "2", "--size", "5", "--folder", folder]
    answer = command(*words)
    assert answer.code == 0, answer.err
    path.write_bytes(path.read_bytes()[:100])
    answer = command(*words[:-1], str(tmp_path / "other"))
    assert answer.code == 2
    assert "policy.npz: is no rollout policy, or is damaged" in answer.err


WITHOUT_NUMBA = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "sgfmill"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from landmark.cli.main import main
sys.argv = ["landmark", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "lenet5", "--json"], 0, '"parameters": 61706'),
        (["show", "alphago-policy", "--json"], 0, '"parameters": 3882793'),
        (["train", "go-expert"], 2, "landmark: Go needs numba: pip install 'landmark[go]'"),
        (["go", "match", QUICK, QUICK], 2, "landmark: Go needs numba: pip install 'landmark[go]'"),
    ],
)
def test_without_numba_all_but_go_works(words, code, message, tmp_path):
    command = [sys.executable, "-c", WITHOUT_NUMBA, *words]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == code, found.stderr
    assert message in found.stdout + found.stderr
    assert "Traceback" not in found.stderr
