import random
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.go.features.feature_set import feature_set
from landmark.go.features.ladder import escapes_by
from landmark.go.gtp.controller import Controller
from landmark.go.match.contestant import find_gnu_go
from landmark.go.positions.packed import pack_states, states_of
from landmark.go.positions.targets import turned_planes
from landmark.go.record.expert import expert_games
from landmark.go.rules.geometry import (
    COLOUR_NAMES,
    OFFSETS,
    PASS,
    column_of,
    points_of,
    row_of,
    vertex,
)
from landmark.go.rules.moves import U, is_legal, play
from landmark.go.rules.position import Position
from landmark.go.rules.symmetry import NUM_SYMMETRIES, symmetric_points
from landmark.go.search.ladder import catches, scratch_states
from landmark.go.search.workspace import new_workspace
from tests.go.boards import BLACK, WHITE, point, position
from tests.go.slow_features import slow_alphago_planes, slow_board_planes


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


@pytest.mark.parametrize(("size", "seeds"), [(2, 4), (5, 4), (9, 1), (19, 1)])
def test_board_planes_are_those_of_slow_sets(size, seeds):
    captures = 0
    for seed in range(seeds):
        boards = random_positions(size, min(2 * size * size, 160), seed)
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


@pytest.mark.parametrize(("size", "seeds"), [(5, 4), (9, 1), (19, 1)])
def test_alphago_planes_are_those_of_slow_sets(size, seeds):
    filled = np.zeros(49)
    for seed in range(seeds):
        boards = random_positions(size, min(2 * size * size, 250), seed)
        planes = planes_of("alphago-value", boards)
        assert (planes[:, :48] == planes_of("alphago", boards)).all()
        step = 20 if size == 19 else 1
        for board, ours in zip(boards[::step], planes[::step], strict=True):
            expected = slow_alphago_planes(board)
            wrong = [
                k for k in range(49) if k not in (44, 45) if not (expected[k] == ours[k]).all()
            ]
            assert not wrong, board.diagram()
            filled += expected.sum((1, 2))
    rare = {*range(22, 28), *range(31, 36)}  # large captures and self-ataris
    assert set(np.flatnonzero(filled == 0)) <= {44, 45, 47} | rare


def replayed(count: int, every: int) -> list[Position]:
    """Positions of expert games."""
    found = []
    for game in islice(expert_games(), 0, 25 * count, 25):
        board = game.start()
        for number, move in enumerate(game.moves):
            board.play_repeating(move.colour, move.point)
            if number % every == every - 1:
                found.append(board.copy())
    return found


def test_planes_of_ladders_and_all_others_turn_with_the_board():
    boards = replayed(12, 5)
    states = np.concatenate([board.states for board in boards])
    features = feature_set("alphago")
    planes = features.planes(states, 9)
    assert planes[:, 44].any()
    assert planes[:, 45].any()
    for symmetry in range(NUM_SYMMETRIES):
        table = symmetric_points(9)[symmetry]
        turned = []
        for board in boards:
            other = Position(9)
            for move in board.moves:
                other.play_repeating(move.colour, int(table[move.point]))
            turned.append(other.states)
        symmetries = np.full(len(boards), symmetry)
        again = features.planes(np.concatenate(turned), 9)
        assert (again == turned_planes(planes, symmetries)).all()


def test_a_ladder_and_its_breaker_are_in_the_planes():
    """The ladder of test_knowledge, seen by both colours."""
    for extra, caught in (("", True), ("G3", False)):
        board = position("D6 C5 C4 E6", f"D5 {extra}")
        place = row_of(point("E5")), column_of(point("E5"))
        assert planes_of("alphago", [board])[0, 44][place] == caught
        board.play(BLACK, point("E5"))
        place = row_of(point("D4")), column_of(point("D4"))
        assert planes_of("alphago", [board])[0, 45][place] == (not caught)


def test_a_capture_that_saves_a_chain_escapes():
    board = position("D6 C5 C4 E5", "D5 F5 E6", to_move=WHITE)  # E5 may be taken at E4
    planes = planes_of("alphago", [board])[0]
    assert planes[45, row_of(point("E4")), column_of(point("E4"))] == 1


def test_liberties_after_moves_are_gnu_gos(needs_program):
    needs_program("gnugo", "gnugo")
    compared = 0
    with Controller(f"{find_gnu_go()} --mode gtp --chinese-rules") as gnu_go:
        for board in replayed(4, 16):
            tell(gnu_go, board)
            planes = planes_of("alphago", [board])[0, 36:44].reshape(8, -1)
            name = COLOUR_NAMES[board.to_move]
            for index, each in enumerate(points_of(9)):
                if planes[:, index].any():
                    theirs = len(gnu_go.send(f"accuratelib {name} {vertex(each, 9)}").split())
                    assert planes[min(theirs, 8) - 1, index] == 1, (vertex(each, 9), theirs)
                    compared += 1
    assert compared > 500


def tell(gnu_go: Controller, board: Position) -> None:
    for command in ("boardsize 9", "clear_board", "komi 7"):
        gnu_go.send(command)
    for move in board.moves:
        gnu_go.send(f"play {COLOUR_NAMES[move.colour]} {vertex(move.point, 9)}")


def test_ladders_are_gnu_gos_attacks_and_defences(needs_program):
    """GNU Go reads more than ladders, so it also finds other ways to take and to save chains.

    Whatever we catch it can attack; whatever it can defend without a ko we can save.
    """
    needs_program("gnugo", "gnugo")
    scratch, work = scratch_states(), new_workspace(0)[0]
    found: Counter[tuple[str, str, bool]] = Counter()
    with Controller(f"{find_gnu_go()} --mode gtp --level 10 --chinese-rules") as gnu_go:
        for board in replayed(24, 6):
            tell(gnu_go, board)
            state, mover = board.states.copy()[0], board.to_move
            chains = {min(board.chain(p)) for p in board.stones(BLACK) + board.stones(WHITE)}
            for stone in sorted(chains):
                liberties, name = board.liberties(stone), vertex(stone, 9)
                if board.colour_at(stone) == mover and len(liberties) == 1:
                    tries = [p for p in liberties | captures_beside(board, stone)
                             if board.fault_of(mover, p) in (None, "superko")]  # fmt: skip
                    ours = any(escapes_by(scratch, work, state, U(stone), U(p)) for p in tries)
                    found["defend", gnu_go.send(f"defend {name}")[0], ours] += 1
                elif board.colour_at(stone) != mover and len(liberties) == 2:
                    ours = any(catches(scratch, work, state, U(stone), U(p)) for p in liberties)
                    found["attack", gnu_go.send(f"attack {name}")[0], ours] += 1
    assert found["attack", "0", True] == 0
    assert found["attack", "1", True] > 3 * found["attack", "1", False] > 0
    assert found["defend", "1", False] == 0
    assert found["defend", "0", False] > 3 * found["defend", "0", True]
    assert found["defend", "1", True] > 20


def captures_beside(board: Position, stone: int) -> set[int]:
    """The last liberties of the opponent's chains beside a chain."""
    near = {p + step for p in board.chain(stone) for step in OFFSETS[:4]}
    others = [p for p in near if board.colour_at(p) == BLACK + WHITE - board.colour_at(stone)]
    return {p for other in others if len(found := board.liberties(other)) == 1 for p in found}
