"""A ladder beside choix and beside the textbook's error of a share."""

import json
import math

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.go.match.ladder import Meeting, rate, read_meetings
from landmark.go.match.match import GAMES_FILE, TERMS_FILE
from landmark.go.match.rating import ELO

MEETINGS = [Meeting("a", "b", 30, 40), Meeting("b", "c", 25.5, 40), Meeting("a", "c", 33, 40)]


def test_the_ratings_are_those_of_choix_with_a_drawn_game_more_for_each_pair():
    from tests.openspiel_beside import choix

    wins = np.array([[0, 30, 33], [10, 0, 25.5], [7, 14.5, 0]]) + 0.5 * (1 - np.eye(3))
    pairs = [(i, j) for i in range(3) for j in range(3) for _ in range(int(2 * wins[i, j]))]
    expected = choix.opt_pairwise(3, pairs)
    ladder = rate(MEETINGS, anchor="c")
    assert ladder.players == ("a", "b", "c")
    found = [rating.elo for rating in ladder.ratings]
    assert found == pytest.approx(list(ELO * (expected - expected[2])), abs=0.05)
    assert ladder.games == (80, 80, 80)
    assert ladder.ratings[2] == (0, 0, 0)


def test_the_interval_of_two_players_is_that_of_the_log_odds():
    (ladder) = rate([Meeting("a", "b", 60, 99)])
    won, lost = 60.5, 39.5
    error = math.sqrt(1 / won + 1 / lost)  # of a log odds ratio, by the delta method
    best = ladder.ratings[0]
    assert best.elo == pytest.approx(ELO * math.log(won / lost), rel=1e-6)
    assert best.high - best.elo == pytest.approx(1.959964 * ELO * error, rel=1e-6)


def test_a_player_that_won_all_games_has_a_finite_rating():
    best = rate([Meeting("a", "b", 20, 20)]).ratings[0]
    assert 300 < best.elo < 1000


def test_players_that_nothing_connects_are_refused():
    with pytest.raises(UserError, match="no chain of matches leads from a to c"):
        rate([Meeting("a", "b", 1, 2), Meeting("c", "d", 1, 2)])
    with pytest.raises(UserError, match="e has played no game: choose from a, b"):
        rate([Meeting("a", "b", 1, 2)], anchor="e")


def match_folder(folder, first, second, winners):
    folder.mkdir(parents=True)
    (folder / TERMS_FILE).write_text(json.dumps({"first": first, "second": second}))
    lines = [json.dumps({"winner": winner, "ending": ending}) for winner, ending in winners]
    (folder / GAMES_FILE).write_text("".join(line + "\n" for line in lines))


def test_matches_are_read_from_all_folders_below_and_void_games_left_out(tmp_path, command):
    games = [(1, "score"), (0, "score"), (1, "resign"), (0, "void")]
    match_folder(tmp_path / "one", "x", "y", games)
    match_folder(tmp_path / "deep" / "two", "y", "z", [(1, "score")] * 4)
    match_folder(tmp_path / "none", "x", "z", [])
    assert read_meetings(tmp_path) == [Meeting("y", "z", 4, 4), Meeting("x", "y", 2.5, 3)]
    answer = command("figure", "go-ladder", str(tmp_path), "--output", str(tmp_path / "l.png"))
    assert answer.code == 0, answer.err
    assert [line.split()[0] for line in answer.out.splitlines()[:4]] == ["player", "x", "y", "z"]
    assert (tmp_path / "l.png").stat().st_size > 1000


def test_what_is_no_match_is_named(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        read_meetings(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no match there has a finished game"):
        read_meetings(tmp_path)
    match_folder(tmp_path / "one", "x", "y", [])
    (tmp_path / "one" / GAMES_FILE).write_text("{\n")
    with pytest.raises(UserError, match="is no match of this version"):
        read_meetings(tmp_path)
