import random

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.go.features.feature_set import feature_set
from landmark.go.positions.packed import pack_states, states_of
from landmark.go.rules.geometry import PASS, WHITE, column_of, points_of, row_of
from landmark.go.rules.moves import U, is_legal, play
from landmark.go.rules.position import Position
from tests.go.boards import point, position
from tests.go.slow_features import SlowPosition


def random_positions(size: int, moves: int, seed: int, passing: float = 0.02) -> list[Position]:
    """Positions of one random game, of which some moves are passes."""
    rng, board, found = random.Random(seed), Position(size), []
    for _ in range(moves):
        found.append(board.copy())
        choices = board.legal_moves(board.to_move)
        passes = not choices or rng.random() < passing
        board.play(board.to_move, PASS if passes else rng.choice(choices))
    return found


def planes_of(name: str, boards: list[Position], komi: float = 7.0) -> np.ndarray:
    states = np.concatenate([board.states for board in boards])
    return feature_set(name).planes(states, boards[0].size, komi)


def slow_board_planes(board: Position, komi: float) -> np.ndarray:
    slow, size = SlowPosition(board), board.size
    planes = np.zeros((20, size, size), np.float32)
    planes[2] = 1
    for place, colour in slow.stones.items():
        is_others = int(colour != slow.own)
        planes[is_others][place] = 1
        count = len(slow.liberties(place))
        if count < 4:
            planes[3 * (1 + is_others) + count - 1][place] = 1
    for age, move in enumerate(board.moves[:-6:-1]):
        if move.point:
            planes[9 + age, row_of(move.point), column_of(move.point)] = 1
    if slow.ko:
        planes[14][slow.ko] = 1
    for place, after in slow.moves().items():
        planes[15][place] = 1
        planes[16][place] = len(slow.liberties(place, after)) == 1
        planes[17][place] = len(after) <= len(slow.stones)
    planes[18] = bool(board.moves) and board.moves[-1].point == PASS
    planes[19] = komi / 10 * (1 if board.to_move == WHITE else -1)
    return planes


@pytest.mark.parametrize(("size", "seeds"), [(2, 4), (5, 4), (9, 2), (19, 1)])
def test_board_planes_are_those_of_slow_sets(size, seeds):
    captures = 0
    for seed in range(seeds):
        boards = random_positions(size, min(2 * size * size, 200), seed)
        planes = planes_of("board", boards, 6.5)
        step = 10 if size == 19 else 1
        for board, ours in zip(boards[::step], planes[::step], strict=True):
            expected = slow_board_planes(board, 6.5)
            wrong = [k for k in range(20) if not (expected[k] == ours[k]).all()]
            assert not wrong, board.diagram()
            captures += int(expected[17].sum())
    assert captures


def test_a_capture_of_two_stones_that_leaves_one_liberty_is_self_atari():
    """Of the two stones captured, only the one beside the new stone becomes its liberty."""
    board = position("B2 C2 D1", "B1 C1 A2 A3")
    planes = planes_of("board", [board])[0]
    row, column = row_of(point("A1")), column_of(point("A1"))
    assert planes[[15, 16, 17], row, column].tolist() == [1, 1, 1]
    assert planes[16].sum() == 1


def test_states_made_of_packed_positions_have_the_same_stones_moves_and_planes():
    boards = [b for seed in range(4) for b in random_positions(9, 150, seed, passing=0.1)]
    states = np.concatenate([board.states for board in boards])
    again = states_of(pack_states(states, 9), 9)
    same = ("hash", "colour", "code", "ko", "last", "before_last", "num_moves", "recent", "to_move",
            "passes", "size", "num_empties")  # fmt: skip
    for name in same:
        assert (states[name] == again[name]).all(), name
    assert states["ko"].any()
    assert (states["passes"] > 1).any()
    features = feature_set("board")
    assert (features.planes(states, 9) == features.planes(again, 9)).all()


@pytest.mark.parametrize("size", [2, 3, 13, 19])
def test_boards_of_every_size_are_packed(size):
    states = np.concatenate([board.states for board in random_positions(size, 60, size)])
    assert (states_of(pack_states(states, size), size)["hash"] == states["hash"]).all()


def test_play_goes_on_from_an_unpacked_position_as_from_the_original():
    rng = random.Random(2)
    for board in random_positions(7, 80, 5):
        ours, again = board.states.copy(), states_of(pack_states(board.states, 7), 7)
        for _ in range(20):
            legal = [p for p in points_of(7) if is_legal(ours[0], U(p), U(ours[0]["to_move"]))]
            move = rng.choice([*legal, PASS])
            play(ours[0], U(move), U(ours[0]["to_move"]))
            play(again[0], U(move), U(again[0]["to_move"]))
            assert ours[0]["hash"] == again[0]["hash"]
            assert ours[0]["ko"] == again[0]["ko"]


def test_planes_go_into_a_given_array():
    boards = random_positions(5, 20, 1)
    states = np.concatenate([board.states for board in boards])
    out = np.full((20, 20, 5, 5), 9, np.float32)
    assert feature_set("board").planes(states, 5, out=out) is out
    assert (out == planes_of("board", boards)).all()
    with pytest.raises(ValueError, match="contiguous float32"):
        feature_set("board").planes(states, 5, out=out[:, :19])


def test_a_set_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UserError, match="choose one of board"):
        feature_set("bored")
