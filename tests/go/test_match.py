import json
import math
import sys

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.go.match.contestant import GtpContestant, parse_contestant
from landmark.go.match.game import GameOutcome, GameTask, play_game
from landmark.go.match.match import MatchTerms, hold_match, read_outcomes
from landmark.go.match.opening import openings
from landmark.go.match.rating import difference, elo_ratings, log_strengths, wilson
from landmark.go.match.referee import own_count, parse_score
from landmark.go.rules.geometry import parse_vertex, points_of
from landmark.go.rules.position import Position
from landmark.go.rules.symmetry import symmetric_points
from tests.go.boards import replayed

QUICK = "landmark:20,max_nodes=20000"


def test_openings_differ_under_all_symmetries():
    found = openings(9)
    assert len(found) == 50
    assert {len(moves) for moves in found} == {2, 3, 4}
    seen = set()
    for moves in found:
        images = {
            (
                frozenset(image[list(moves[::2])].tolist()),
                frozenset(image[list(moves[1::2])].tolist()),
            )
            for image in symmetric_points(9)
        }
        assert not images & seen
        seen |= images
        board = Position(9)
        for point in moves:
            board.play(board.to_move, point)
    assert openings(9) == found
    assert all(set(moves) <= set(points_of(2)) for moves in openings(2))


def test_players_are_read_from_the_command_line():
    ours = parse_contestant("landmark:300,rave=0,playouts.patterns=0.5")
    assert ours.limit.simulations == 300
    assert (ours.settings.rave, ours.settings.playouts.patterns) == (0, 0.5)
    assert parse_contestant("landmark:2s,threads=2").limit.seconds == 2
    assert parse_contestant("landmark").limit.simulations == 10_000
    program = f"{sys.executable} --gtp {{seed}}"
    assert parse_contestant(program).command == program
    for text in ("landmark:many", "landmark:5,raves=1", "gnugo:x", "nogo:5", "a 'b", "  "):
        with pytest.raises(UserError):
            parse_contestant(text)


def test_results_are_read():
    assert parse_score("B+3.5") == 3.5
    assert parse_score("W+12.0 (upper bound: 1)") == -12
    assert parse_score("0") == 0
    assert parse_score("cannot score") is None


def test_a_group_with_one_eye_and_two_kos_is_counted_as_dead():
    """A game against GNU Go: White takes both kos in turn and connects."""
    board = replayed(
        "C3 D6 E4 C4 B4 F6 G5 G6 C6 C7 H6 H7 C5 F5 H4 F4 G7 H8 G3 F3 B7 G2 H2 G4 H3 F2 H5 H1 C8 "
        "J6 G1 F1 F8 F7 E8 G8 J7 D7 D8 D4 J5 J8 D5 D3 D2 E3 B2 E5 J1 J2 J3 J6 J1 G1 B8 E7 D1 F9 "
        "J7 G9 B5 E9 E2 D9 C9 E1 C2 pass pass"
    )
    assert board.score() == 4
    assert own_count(board) == -24


def test_a_match_is_played_kept_and_resumed(tmp_path):
    terms = MatchTerms(parse_contestant(QUICK), parse_contestant(QUICK), games=3, size=5, komi=3)
    reports = []
    hold_match(terms, tmp_path, report=lambda *r: reports.append(r[1:]))
    assert reports == [(1, 3), (2, 3), (3, 3)]
    before = (tmp_path / "games.jsonl").read_text()
    with (tmp_path / "games.jsonl").open("a") as file:
        file.write('{"number": 3, "cut')
    more = MatchTerms(terms.first, terms.second, games=4, size=5, komi=3)
    result = hold_match(more, tmp_path)
    assert (tmp_path / "games.jsonl").read_text().startswith(before)
    facts = result.json()
    assert facts["games"] == 4
    assert facts["won"] + facts["lost"] + facts["drawn"] == 4
    assert len(list(tmp_path.glob("game-*.sgf"))) == 4
    assert json.dumps(facts)
    assert "4 games" in result.lines()[0]
    again = hold_match(more, tmp_path)
    assert again.outcomes == result.outcomes
    other = MatchTerms(terms.first, terms.second, games=4, size=5, komi=0)
    with pytest.raises(UserError, match="another match"):
        hold_match(other, tmp_path)


def test_games_of_a_pair_have_one_opening_and_both_colours():
    terms = MatchTerms(parse_contestant(QUICK), parse_contestant(QUICK), games=4)
    tasks = terms.tasks()
    assert tasks[0].opening == tasks[1].opening != tasks[2].opening
    assert [task.first_is_black for task in tasks] == [True, False, True, False]
    assert len({task.seed for task in tasks}) == 4


PROGRAM = """
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "genmove":
        {action}
    print("= ", flush=True)
    print(flush=True)
    if words[0] == "quit":
        break
"""


def scripted(tmp_path, action: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(action=action))
    return f"{sys.executable} {path}"


def task_against(command: str, timeout: float = 20.0) -> GameTask:
    first, second = parse_contestant(QUICK), parse_contestant(command)
    opening = (parse_vertex("C3", 5), parse_vertex("B2", 5))
    return GameTask(0, first, second, False, opening, 5, 3.0, 1, timeout, uses_gnu_go=False)


@pytest.mark.parametrize(
    ("action", "ending", "winner", "attempts"),
    [
        ("print('= C3\\n', flush=True); continue", "illegal", 1, 1),
        ("print('= nonsense\\n', flush=True); continue", "illegal", 1, 1),
        ("print('= resign\\n', flush=True); continue", "resign", 1, 1),
        ("import time; time.sleep(60)", "timeout", 1, 1),
        ("sys.exit(1)", "void", 0, 2),
        ("print('? broken\\n', flush=True); continue", "void", 0, 2),
    ],
)
def test_illegal_moves_and_timeouts_forfeit_and_crashes_are_replayed(
    tmp_path, action, ending, winner, attempts
):
    outcome = play_game(task_against(scripted(tmp_path, action), timeout=3.0))
    assert (outcome.ending, outcome.winner, outcome.attempts) == (ending, winner, attempts)


def test_a_program_is_never_sent_time_settings(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(
        GtpContestant, "_send", lambda self, command: sent.append(command) or "pass"
    )
    command = scripted(tmp_path, "pass")
    play_game(task_against(command))
    assert {"boardsize 5", "clear_board", "komi 3"} <= set(sent)
    assert not [line for line in sent if line.startswith("time")]


def test_disagreement_about_the_winner_is_seen():
    def outcome(ours, referee):
        return GameOutcome(0, True, 1, "B+1", "score", "", (0, 0), 1, ours, referee)

    assert outcome(3.0, -1.0).disagrees
    assert outcome(0.0, 2.0).disagrees
    assert not outcome(3.0, 1.0).disagrees
    assert not outcome(3.0, None).disagrees


def test_elo_follows_from_the_share_of_games():
    rating = difference(75, 25)
    assert rating.elo == pytest.approx(400 * math.log10(3), abs=0.01)
    assert rating.low < rating.elo < rating.high
    assert difference(50, 50).elo == pytest.approx(0, abs=1e-6)
    assert difference(10, 0).elo == math.inf
    assert difference(10, 0).low > 0
    assert wilson(5, 10)[0] == pytest.approx(0.2366, abs=1e-4)


def test_bradley_terry_is_that_of_choix():
    from tests.openspiel_beside import choix

    wins = np.array([[0, 7, 9, 4], [3, 0, 6, 5], [1, 4, 0, 2], [2, 3, 4, 0]], float)
    expected = choix.opt_pairwise(4, [
        (i, j) for i in range(4) for j in range(4) for _ in range(int(wins[i, j]))
    ], alpha=0.0)  # fmt: skip
    assert log_strengths(wins) == pytest.approx(expected - expected.mean(), abs=1e-3)
    assert sum(elo_ratings(wins.tolist())) == pytest.approx(0, abs=1e-6)


def test_gnu_go_plays_and_counts(tmp_path, needs_program):
    needs_program("gnugo", "gnugo")
    terms = MatchTerms(
        parse_contestant(QUICK), parse_contestant("gnugo:0"), games=2, uses_gnu_go=True
    )
    result = hold_match(terms, tmp_path)
    assert len(result.outcomes) == 2
    assert all(o.ending in ("score", "resign") for o in result.outcomes)
    assert all(o.referee_count is not None for o in result.outcomes if o.ending == "score")
    assert read_outcomes(tmp_path) == result.outcomes


DIES = """import sys
for line in sys.stdin:
    if line.startswith("genmove"):
        sys.exit(3)
    print("=\\n", flush=True)
"""


def test_a_program_that_dies_voids_the_game_after_a_second_try(tmp_path):
    (tmp_path / "dies.py").write_text(DIES)
    players = (
        parse_contestant(f"{sys.executable} {tmp_path / 'dies.py'}"),
        parse_contestant(QUICK),
    )
    task = GameTask(0, *players, True, (), 9, 7.0, 1, 20.0, uses_gnu_go=False)
    outcome = play_game(task)
    assert (outcome.ending, outcome.attempts, outcome.winner) == ("void", 2, 0)
