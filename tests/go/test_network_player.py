"""Players with networks: in matches, reviews and the protocol, and what they are told is wrong."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import landmark.cli.go
from landmark.cli.main import run
from landmark.core.configuration import Provenance
from landmark.core.errors import UserError
from landmark.go.gtp.session import Session
from landmark.go.match.contestant import OwnContestant, parse_contestant
from landmark.go.match.game import play_game
from landmark.go.match.match import MatchTerms, hold_match
from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork
from landmark.go.network.policy import PolicyPlayer, PolicySettings
from landmark.go.network.source import NetworkSource, open_searcher, search_settings, take_source
from landmark.go.player import Player
from landmark.go.review import review_game
from landmark.go.rules.geometry import BLACK, PASS, WHITE
from landmark.go.rules.position import Position
from landmark.go.search.evaluator import Evaluation
from landmark.go.search.searcher import Limit
from tests.go.boards import drawn, point
from tests.go.networks import policy_alone, residual, value_alone
from tests.go.test_review import short_game

ONE_LOOK = Limit(simulations=1)


def open_network(path: Path) -> TrainedNetwork:
    """Networks by the names of folders that are not there."""
    size = int(path.suffix[1:] or 5)
    kinds = {"residual": residual, "policy": policy_alone, "value": value_alone}
    return kinds[path.stem](size)


def contestant(text: str):
    return parse_contestant(text, open_network)


def test_contestants_with_networks_are_read():
    spec = contestant("landmark:1s,network=residual,playout_share=0.5")
    assert (spec.source.path, spec.source.value_path) == (Path("residual"), None)
    assert (spec.settings.selection, spec.settings.expand_after) == ("puct", 1)
    assert spec.settings.playout_share == 0.5
    both = contestant("landmark:20,network=policy,exploration=3,value_network=value")
    assert both.source.value_path == Path("value")
    assert both.settings.exploration == 3
    assert contestant("policy:policy,temperature=0.5").policy == PolicySettings(temperature=0.5)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("landmark:20,playout_share=0.5", "playout_share needs a network"),
        ("landmark:20,selection=puct,exploration=1", "selection=puct needs a network"),
        ("landmark:20,value_network=value", "value_network goes with network"),
        ("landmark:20,network=", "names the folder of a run"),
        ("landmark:20,network=residual,expliration=1", "exploration"),
        ("policy:", "name the folder of a run"),
        ("policy:policy,temprature=1", "temperature"),
    ],
)
def test_words_at_fault_are_refused(text, fault):
    with pytest.raises(UserError, match=fault):
        contestant(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("landmark:20,network=residual.9", "plays on 9x9 boards, not on 5x5"),
        ("policy:residual.9", "plays on 9x9 boards, not on 5x5"),
        ("landmark:20,network=policy", "knows no results: playout_share=1, or another run"),
        ("landmark:20,network=value", "knows no moves"),
        ("landmark:20,network=policy,value_network=value.9", "boards of two sizes"),
    ],
)
def test_networks_that_do_not_fit_are_refused_before_a_game(text, fault):
    with pytest.raises(UserError, match=fault):
        contestant(text).check(5)


def test_networks_that_fit_may_play():
    for text in (
        "landmark:20,network=policy,playout_share=1",
        "landmark:20,network=policy,value_network=value",
        "policy:policy",
        "landmark:20",
        f"{sys.executable} --gtp",
    ):
        contestant(text).check(5)


def test_a_match_of_networks_is_the_same_in_one_process_and_in_two(tmp_path):
    players = (
        contestant("landmark:12,network=residual,max_nodes=10000"),
        contestant("policy:residual,temperature=1"),
    )
    terms = MatchTerms(*players, games=4, size=5, komi=3)
    results = [hold_match(terms, tmp_path / str(jobs), jobs) for jobs in (1, 2)]
    played = [{one.number: one.moves for one in result.outcomes} for result in results]
    assert played[0] == played[1]
    assert len(set(played[0].values())) > 1
    assert {one.ending for one in results[0].outcomes} <= {"score", "resign"}


def test_a_match_is_not_gone_on_with_other_weights(tmp_path):
    seeds = iter([1, 2])

    def next_weights(path: Path) -> TrainedNetwork:
        return residual(5, next(seeds))

    def terms(name: str) -> MatchTerms:
        spec = parse_contestant(f"policy:{name}", next_weights)
        return MatchTerms(replace(spec, text="policy:run"), spec, games=0, size=5)

    first = terms("a")
    hold_match(replace(first, second=first.first), tmp_path)
    other = terms("b")
    with pytest.raises(UserError, match="first_network was"):
        hold_match(replace(other, second=other.first), tmp_path)


def test_a_network_is_opened_once_in_a_process(monkeypatch):
    opened = []

    def counting(path: Path) -> TrainedNetwork:
        opened.append(path)
        return residual(5)

    spec = parse_contestant("landmark:8,network=counted,max_nodes=10000", counting)
    terms = MatchTerms(spec, spec, games=2, size=5, komi=3)
    for task in terms.tasks():
        play_game(task)
    assert opened == [Path("counted")]
    assert isinstance(spec.open(1, 1.0, 5), OwnContestant)


class Told(NetworkEvaluator):
    """Says what it is told."""

    def __init__(self, size: int, priors: dict[int, float], has_ownership: bool = False) -> None:
        super().__init__(residual(size), engine="torch")
        self.told, self.has_ownership = priors, has_ownership

    def evaluate_root(self, states: np.ndarray) -> Evaluation:
        judged = super().evaluate_root(states)
        judged.priors[:] = 0.001
        for move, prior in self.told.items():
            judged.priors[:, move] = prior
        return judged if self.has_ownership else judged._replace(ownership=None)


def test_a_policy_plays_what_it_likes_best_or_draws():
    board = Position(5)
    evaluator = Told(5, {point("C3", 5): 0.6, point("B2", 5): 0.3})
    assert PolicyPlayer(evaluator).choose(board, ONE_LOOK)[0] == point("C3", 5)
    settings = PolicySettings(temperature=1.0)
    drawn_moves = [
        PolicyPlayer(evaluator, settings, seed).choose(board, ONE_LOOK)[0] for seed in range(100)
    ]
    assert 50 < drawn_moves.count(point("C3", 5)) < 80
    assert 18 < drawn_moves.count(point("B2", 5)) < 48
    again = PolicyPlayer(evaluator, settings, 7).choose(board, ONE_LOOK)[0]
    assert again == drawn_moves[7]
    board.play(BLACK, point("C3", 5))
    assert PolicyPlayer(evaluator).choose(board, ONE_LOOK)[0] == point("B2", 5)


SETTLED = drawn(
    ". X X O .",
    "X X X O O",
    ". X . O .",
    "X X X O O",
    ". X X O .",
    komi=0.5,
)


def test_a_policy_passes_when_it_likes_that_or_all_is_settled():
    inside = point("C3", 5)
    assert PolicyPlayer(Told(5, {PASS: 0.9})).choose(Position(5), ONE_LOOK)[0] == PASS
    assert PolicyPlayer(Told(5, {inside: 0.9})).choose(Position(5), ONE_LOOK)[0] == inside
    # by playouts everything is settled, and Black wins
    assert PolicyPlayer(Told(5, {inside: 0.9})).choose(SETTLED, ONE_LOOK)[0] == PASS
    behind = SETTLED.copy()
    behind.komi = 20.5
    behind.give_turn(BLACK)
    assert PolicyPlayer(Told(5, {inside: 0.9})).choose(behind, ONE_LOOK)[0] != PASS


def test_a_policy_fills_no_eye_and_makes_no_illegal_move():
    likes = {point("A5", 5): 0.9, point("B5", 5): 0.9, point("E5", 5): 0.9, point("C3", 5): 0.1}
    board = SETTLED.copy()
    board.komi = 20.5
    board.give_turn(BLACK)
    _, result = PolicyPlayer(Told(5, likes)).choose(board, ONE_LOOK)
    assert [move.point for move in result.moves] == [point("C3", 5), PASS]


def test_ownership_of_a_policy_is_blacks_whoever_moves():
    for has_ownership in (True, False):
        search = PolicyPlayer(Told(5, {}, has_ownership)).searcher
        board = SETTLED.copy()
        board.give_turn(WHITE)
        found = search.search(board, ONE_LOOK)
        if has_ownership:
            judged = search.evaluator.evaluate_root(board.states)
            assert found.ownership == pytest.approx(-judged.ownership[0])
            assert found.score == pytest.approx(-float(judged.scores[0]))
        else:
            assert found.ownership[point("A5", 5)] > 0.9
            assert found.ownership[point("E5", 5)] < -0.9


def test_a_policy_passes_after_a_pass_that_it_wins():
    board = Position(5, komi=-30.0)
    board.play(BLACK, PASS)
    for komi, passes in ((30.0, True), (-30.0, False)):
        board.komi = komi
        likes = Told(5, {point("C3", 5): 0.9})
        assert (PolicyPlayer(likes).choose(board, ONE_LOOK)[0] == PASS) == passes


def test_gtp_keeps_to_the_networks_board():
    source = NetworkSource(Path("residual"), None, open_network)
    settings = search_settings(["max_nodes=10000"], source, Provenance("test"))
    session = Session(Player(open_searcher(settings, source, 5)), Limit(simulations=8), 5)
    assert session.generate(BLACK)
    session.begin(5)
    with pytest.raises(Exception, match="unacceptable size"):
        session.begin(9)


def test_a_review_with_a_network_is_kept_for_that_network(tmp_path):
    game, saved, done = short_game(), tmp_path / "review.json", []

    def review(name: str):
        source, _ = take_source([f"network={name}.{game.size}"], open_network, "test")
        settings = search_settings(["max_nodes=10000"], source, Provenance("test"))
        review_game(game, settings, 8, lambda *at: done.append(at), saved, source)

    review("residual")
    assert len(done) == len(game.moves)
    review("residual")
    assert len(done) == len(game.moves)
    with pytest.raises(UserError, match="knows no moves"):
        review("value")


@pytest.mark.parametrize(
    "words",
    [
        ["match", "landmark:5,network={run}", "landmark:5"],
        ["match", "landmark:5", "policy:{run}"],
        ["gtp", "--network", "{run}"],
        ["review", "{game}", "--network", "{run}"],
    ],
)
def test_the_command_says_in_one_line_that_there_is_no_network(words, tmp_path, capsys):
    game = tmp_path / "game.sgf"
    game.write_text("(;SZ[9];B[ee])")
    filled = [word.format(run=tmp_path / "none", game=game) for word in words]
    assert run(["go", *filled]) == 2
    error = capsys.readouterr().err.strip()
    assert "none" in error
    assert len(error.splitlines()) == 1


def test_a_run_of_another_task_has_no_go_network(monkeypatch):
    monkeypatch.setattr("landmark.engine.run.Run.open", lambda path: path)
    config = SimpleNamespace(task="translation")
    monkeypatch.setattr("landmark.tasks.training.load_config", lambda run: config)
    with pytest.raises(UserError, match="runs/x: is a run of task 'translation', no Go network"):
        landmark.cli.go.open_network(Path("runs/x"))


def test_policy_only_needs_a_network(capsys):
    assert run(["go", "gtp", "--policy-only"]) == 2
    assert "--network" in capsys.readouterr().err


def test_players_without_a_network_load_no_torch():
    program = (
        "import sys, landmark.go.match.contestant as c; c.parse_contestant('landmark:5');"
        "import landmark.go.review; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
