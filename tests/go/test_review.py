import json

import pytest

from landmark.core.errors import UserError
from landmark.figures.go import board as board_figure
from landmark.go import review as review_module
from landmark.go.player import Player
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.record.reader import parse_game, read_game, split_games
from landmark.go.record.writer import write_game
from landmark.go.review import review_game
from landmark.go.rules.geometry import BLACK, WHITE
from landmark.go.rules.position import Position
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit, Searcher
from landmark.go.terminal import TerminalGame
from tests.go.boards import point

SETTINGS = SearchSettings(max_nodes=50_000)


def short_game() -> GameRecord:
    names = ("C3", "C2", "D2", "B3", "A1")  # Black's last move is a gift
    moves = tuple(
        RecordedMove(WHITE if k % 2 else BLACK, point(name, 5)) for k, name in enumerate(names)
    )
    return GameRecord(size=5, komi=3.5, moves=moves, black="Ann", white="Bea")


def test_a_review_gives_a_rate_to_every_move():
    review = review_game(short_game(), SETTINGS, 300)
    assert [move.number for move in review.moves] == [1, 2, 3, 4, 5]
    assert all(0 <= move.black_rate <= 1 for move in review.moves)
    for move, following in zip(review.moves, review.moves[1:], strict=False):
        assert move.played_rate == pytest.approx(1 - following.best_rate)
    assert len(review.lines()) == 6
    assert json.dumps(review.json())


def test_a_saved_review_is_used_again_only_for_the_same_game(tmp_path, monkeypatch):
    saved = tmp_path / "game.review.json"
    first = review_game(short_game(), SETTINGS, 50, saved=saved)
    searched = []
    usual = review_module._review_move
    monkeypatch.setattr(review_module, "_review_move", lambda *a: searched.append(1) or usual(*a))
    assert review_game(short_game(), SETTINGS, 50, saved=saved) == first
    assert not searched
    review_game(short_game(), SETTINGS, 60, saved=saved)
    assert len(searched) == 5
    saved.write_text("{damaged")
    review_game(short_game(), SETTINGS, 50, saved=saved)
    assert len(searched) == 10


def test_an_annotated_game_has_comments_and_better_moves_as_variations():
    review = review_game(short_game(), SETTINGS, 300)
    written = write_game(review.annotated())
    (raw,) = split_games(written, "game")
    lines = parse_game(raw, variations=True)
    assert all("Black wins" in move.comment for move in lines[0].moves)
    better = [move for move in review.moves if move.loss >= 0.1 and move.best != move.played]
    assert len(lines) == 1 + len(better)


class Script:
    """A person who types what is written here."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.heard = list(lines), []

    def ask(self, prompt: str) -> str | None:
        return self.lines.pop(0) if self.lines else None

    def played(self, colour: int = BLACK, size: int = 5) -> TerminalGame:
        player = Player(Searcher(SETTINGS))
        game = TerminalGame(
            Position(size), player, Limit(simulations=60), colour, self.ask, self.heard.append
        )
        game.play()
        return game


def test_a_game_is_played_in_the_terminal(tmp_path):
    path = tmp_path / "game.sgf"
    script = Script("C3", "Z9", "C3", "hint", "score", "help", f"save {path}", "save x", "resign")
    game = script.played()
    said = "\n".join(script.heard)
    assert "white plays" in said
    assert "'Z9' is neither a point" in said
    assert "black C3 is illegal: occupied" in said
    assert "% after" in said
    assert "by playouts" in said
    assert game.result == "W+R"
    assert read_game(path).moves[0].point == point("C3", 5)


def test_undo_goes_back_to_the_persons_move():
    game = Script("undo", "C3", "undo", "quit").played()
    assert game.position.num_moves == 0
    assert game.result is None


def test_the_end_of_the_input_ends_the_game():
    assert Script("C3").played().result is None


def test_the_program_may_begin_and_two_passes_end_the_game():
    script = Script(*["pass"] * 40)
    game = script.played(colour=WHITE)
    assert game.result is not None
    assert game.position.moves[0].colour == BLACK


def test_a_board_is_drawn(tmp_path):
    path = tmp_path / "game.sgf"
    path.write_bytes(write_game(short_game()))
    options = board_figure.Options(game=path, move=4, numbers=2, ownership=True, simulations=50)
    record = board_figure.compute(options)
    assert sorted(record.labels.values()) == ["3", "4"]
    assert len(record.ownership) == 5
    assert record.last == (2, 1)
    assert record.title == "Ann - Bea, move 4"
    figure = board_figure.draw(record)
    circles = [patch for patch in figure.axes[0].patches if type(patch).__name__ == "Circle"]
    assert len(circles) >= 4
    with pytest.raises(UserError, match="the game has 5 moves"):
        board_figure.compute(board_figure.Options(game=path, move=9))


def test_a_review_is_drawn():
    from landmark.figures.go.review import draw

    figure = draw(review_game(short_game(), SETTINGS, 60))
    assert len(figure.axes) == 2
