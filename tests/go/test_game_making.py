import json

import pytest

from landmark.core.errors import UserError
from landmark.go.game_making import GAMES, GameTerms, make_games, play_game
from landmark.go.match.contestant import parse_contestant
from landmark.go.positions.packed import IS_TARGET
from landmark.go.positions.packing import pack_games
from landmark.go.record.reader import read_games
from landmark.go.record.sampled import sampled_moves

QUICK = GameTerms(parse_contestant("landmark:20"), size=5, random_share=0.2)


def test_games_are_made_whose_random_moves_are_no_targets(tmp_path):
    assert make_games(QUICK, 5, tmp_path) == 5
    games = list(read_games([tmp_path], print, strict=True))
    assert len(games) == 5
    later = 0
    for game in games:
        drawn = sampled_moves(game)
        first = next(k for k in range(100) if k not in drawn)
        assert first >= 4
        later += any(number > first for number in drawn)
        assert game.result[:2] in ("B+", "W+", "0")
    assert later
    records = pack_games(games, tmp_path / "packed").records
    targets = (records["flags"] & IS_TARGET) > 0
    for number, game in enumerate(games):
        expected = [k not in sampled_moves(game) for k in range(len(game.moves))]
        assert targets[records["game"] == number].tolist() == expected


def test_the_same_command_goes_on_and_makes_the_games_of_one_that_was_not_stopped(tmp_path):
    make_games(QUICK, 4, tmp_path / "whole")
    make_games(QUICK, 2, tmp_path / "parts")
    path = tmp_path / "parts" / GAMES
    path.write_bytes(path.read_bytes()[:-40])  # killed while it wrote
    assert make_games(QUICK, 4, tmp_path / "parts") == 4
    whole = (tmp_path / "whole" / GAMES).read_text().splitlines()
    assert sorted(path.read_text().splitlines()) == sorted(whole)
    assert make_games(QUICK, 3, tmp_path / "parts") == 4


def test_another_kind_of_games_needs_another_folder(tmp_path):
    make_games(QUICK, 1, tmp_path)
    other = GameTerms(parse_contestant("landmark:30"), size=5, random_share=0.2)
    with pytest.raises(UserError, match=r"engine was landmark:20"):
        make_games(other, 2, tmp_path)
    (tmp_path / "games.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        make_games(QUICK, 2, tmp_path)


def test_duplicates_are_left_out(tmp_path, monkeypatch):
    import landmark.go.game_making as module

    def repeating(terms, number):
        return play_game(terms, number // 2).replace(
            b"number=%d" % (number // 2), b"number=%d" % number
        )

    monkeypatch.setattr(module, "play_game", repeating)
    make_games(QUICK, 3, tmp_path)
    left_out = (tmp_path / "left-out.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in left_out] == [1, 3]
    assert len((tmp_path / GAMES).read_text().splitlines()) == 3
    first = play_game(QUICK, 0)
    monkeypatch.setattr(module, "play_game", lambda terms, number: first)
    with pytest.raises(UserError, match="repeats itself"):
        make_games(QUICK, 4, tmp_path)


def test_gnu_go_makes_games_on_two_cores(tmp_path, needs_program):
    needs_program("gnugo", "gnugo")
    terms = GameTerms(parse_contestant("gnugo:0"))
    assert make_games(terms, 2, tmp_path, jobs=2) == 2
    for game in read_games([tmp_path], print, strict=True):
        assert len(game.moves) > 20
        assert game.black == "gnugo:0"


def test_a_program_that_is_not_there_or_answers_nonsense_is_one_line(tmp_path):
    with pytest.raises(UserError, match="is not a program"):
        make_games(GameTerms(parse_contestant("/nowhere/engine --gtp")), 1, tmp_path / "a")
    with pytest.raises(UserError, match="the games so far are kept"):
        make_games(GameTerms(parse_contestant("true")), 1, tmp_path / "b")
