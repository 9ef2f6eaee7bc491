import numpy as np
import pytest

from landmark.go.rules.geometry import BLACK, OFFSETS, WHITE
from landmark.go.rules.moves import U
from landmark.go.rules.position import Position
from landmark.go.search.ladder import catches, is_caught, scratch_states
from landmark.go.search.life import vital_point
from landmark.go.search.parameters import PlayoutSettings, SearchSettings, parameters_of
from landmark.go.search.pattern import SHAPES
from landmark.go.search.playout import run_playouts
from landmark.go.search.prior import measure_distances
from landmark.go.search.tactics import find_urgent_moves, is_self_atari, liberties_after
from landmark.go.search.workspace import new_workspace
from tests.go.boards import drawn, point, points, position


def play_out_many(board: Position, playouts: PlayoutSettings, count: int = 2000):
    work = new_workspace(1)
    parameters = parameters_of(SearchSettings(playouts=playouts), board.komi)
    moves = run_playouts(board.states, board.states.copy(), work, parameters, count)
    return moves / count, work[0]["score_sum"] / count, work[0]["ownership"] / count


@pytest.mark.parametrize("playouts", [PlayoutSettings(), PlayoutSettings.uniform()])
def test_playouts_end_by_themselves_and_favour_black_a_little(playouts):
    moves, score, _ = play_out_many(Position(9), playouts)
    assert 90 < moves < 125
    assert 0 < score < 7


def test_stones_with_two_eyes_live_in_every_playout():
    board = drawn(
        ". X . X O . . . .",
        "X X X X O . . . .",
        "O O O O O . . . .",
        *[". . . . . . . . ."] * 6,
    )
    for playouts in (PlayoutSettings(), PlayoutSettings.uniform()):
        _, _, ownership = play_out_many(board, playouts, 500)
        assert (ownership[points("A8 B8 C8 D8 B9 D9 A9 C9")] == 1).all()


def test_the_first_move_of_a_uniform_playout_is_uniform():
    board = drawn("X . .", ". . .", ". . X")
    work = new_workspace(7)
    from landmark.go.search.playout import random_move

    drawn_points = [int(random_move(board.state, work[0], U(BLACK), 0)) for _ in range(7000)]
    _, counts = np.unique(drawn_points, return_counts=True)
    assert len(counts) == 7
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi-squared with 6 degrees, p = 0.001


def code_of(board: Position, name: str) -> int:
    return int(board.state["code"][point(name)])


@pytest.mark.parametrize(
    ("black", "white", "move", "is_shape"),
    [
        ("C3 E3", "D3", "D2", True),  # hane below a stone between two
        ("D4", "C4", "C3", True),  # hane
        ("E9", "D3", "C3", False),
        ("", "", "D4", False),
        ("D4 D2", "C3 E3", "D3", True),  # wedge
        ("A2", "B2", "B1", True),  # block at the edge
    ],
)
def test_patterns_of_the_paper_are_recognised(black, white, move, is_shape):
    board = position(black, white) if black or white else Position(9)
    assert bool(SHAPES[code_of(board, move)]) == is_shape


def test_patterns_hold_in_all_symmetries_and_for_both_colours():
    rng = np.random.default_rng(0)
    grid = np.array([[4, 0, 5], [1, -1, 2], [6, 3, 7]])
    for code in rng.integers(0, 1 << 16, 3000):
        colours = [(int(code) >> 2 * k) & 3 for k in range(8)]
        if colours.count(3) not in (0, 3):
            continue
        turned = np.rot90(grid)
        again = [0] * 8
        for row in range(3):
            for column in range(3):
                if grid[row, column] >= 0:
                    again[grid[row, column]] = colours[turned[row, column]]
        swapped = [(0, 2, 1, 3)[colour] for colour in colours]
        for other in (again, swapped):
            assert SHAPES[code] == SHAPES[sum(c << 2 * k for k, c in enumerate(other))]


@pytest.mark.parametrize(
    ("extra", "caught"), [("", True), ("G3", False), ("H2", True), ("F2", False)]
)
def test_ladders_are_read_and_breakers_seen(extra, caught):
    board = position("D6 C5 C4 E6", f"D5 {extra}")
    states, work = scratch_states(), new_workspace(1)
    found = catches(states, work[0], board.state, U(point("D5")), U(point("E5")))
    assert found == caught
    board.play(BLACK, point("E5"))
    assert is_caught(states, work[0], board.state, U(point("D5"))) == caught


def test_a_chain_that_captures_its_way_out_is_not_caught():
    board = position("D6 C5 C4 E5", "D5 F5 E6")
    assert len(board.liberties(point("D5"))) == 1
    assert len(board.liberties(point("E5"))) == 1
    states, work = scratch_states(), new_workspace(1)
    assert not is_caught(states, work[0], board.state, U(point("D5")))


@pytest.mark.parametrize("seed", range(4))
def test_liberties_after_a_move_are_those_that_playing_it_shows(seed):
    import random

    rng, compared = random.Random(seed), 0
    board = Position(9)
    for _ in range(100):
        for candidate in board.legal_moves(board.to_move):
            after = board.copy()
            if after.play(board.to_move, candidate):
                continue
            expected = len(after.liberties(candidate)) == 1
            colour = U(board.to_move)
            assert is_self_atari(board.state, U(candidate), colour) == expected
            packed = int(liberties_after(board.state, U(candidate), colour))
            assert packed == int(after.state["liberties"][after.state["chain"][candidate]])
            compared += 1
        choices = board.legal_moves(board.to_move)
        board.play(board.to_move, rng.choice(choices) if choices else 0)
    assert compared > 2000


def test_urgent_moves_save_a_chain_in_atari():
    board = position("D4 E4", "D5 E5 C4 F5 D3", to_move=WHITE)
    board.play(WHITE, point("E3"))
    assert urgent_moves(board) == {point("F4")}


def test_urgent_moves_capture_what_attacks():
    board = position("D4 E4 C3 D2", "D5 E5 C4 F5 F4", to_move=WHITE)
    board.play(WHITE, point("D3"))  # black's chain has E3 left, as has the stone that attacks
    assert urgent_moves(board) == {point("E3")}


def urgent_moves(board: Position) -> set[int]:
    work = new_workspace(1)
    find_urgent_moves(board.state, work[0], U(board.to_move))
    return set(work[0]["candidates"][: work[0]["num_candidates"]].tolist())


@pytest.mark.parametrize(
    ("inside", "vital"),
    [
        ("A9 B9 C9", "B9"),
        ("A9 B9 C9 B8", "B9"),
        ("A9 B9 A8 B8", None),
        ("A9 B9 C9 D9", None),
        ("A9 B9 C9 A8 B8", "B9"),
        ("B9 A8 B8 C8 B7", "B8"),
    ],
)
def test_the_vital_point_of_an_eye_is_found(inside, vital):
    eye = set(points(inside))
    wall = {p + step for p in eye for step in OFFSETS} - eye
    board = Position(9)
    wall = sorted(p for p in wall if board.colour_at(p) == 0)
    board.set_up(wall, [])
    found = vital_point(board.state, new_workspace(1)[0], U(min(eye)))
    assert int(found) == (point(vital) if vital else 0)


def test_distances_go_along_chains():
    board = position("D4 E4 F4 G4", "H7")
    work = new_workspace(1)
    measure_distances(board.state, work[0], U(point("D4")))
    expected = {"D4": 0, "G4": 0, "C4": 1, "H4": 1, "J4": 2, "H6": 3, "H7": 4, "A9": 4}
    assert {name: int(work[0]["distance"][point(name)]) for name in expected} == expected


def test_colours_are_treated_alike():
    board = drawn(*[". . . . . . . . ."] * 9, komi=0)
    black = play_out_many(board, PlayoutSettings(), 3000)[1]
    board.give_turn(WHITE)
    white = play_out_many(board, PlayoutSettings(), 3000)[1]
    assert black == pytest.approx(-white, abs=1.5)
