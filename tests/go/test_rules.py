import random

import pytest
from sgfmill.boards import Board

from landmark.core.errors import UserError
from landmark.go.rules.geometry import (
    BLACK,
    PASS,
    WHITE,
    column_of,
    parse_vertex,
    point_at,
    points_of,
    row_of,
    vertex,
)
from landmark.go.rules.position import IllegalMoveError, Position
from landmark.go.rules.symmetry import symmetric_points
from tests.go.boards import points, position
from tests.go.reference import Reference


def as_pair(point: int) -> tuple[int, int]:
    return row_of(point), column_of(point)


def stones_of(board: Position) -> dict[tuple[int, int], int]:
    return {as_pair(p): colour for colour in (BLACK, WHITE) for p in board.stones(colour)}


@pytest.mark.parametrize("suicide_allowed", [False, True])
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_legal_moves_are_those_of_the_reference_throughout_random_games(size, suicide_allowed):
    rng = random.Random(size)
    kinds = set()
    for _ in range(12):
        board, reference = Position(size, suicide_allowed=suicide_allowed), None
        reference = Reference(size, suicide_allowed)
        for _ in range(2 * size * size):
            colour = board.to_move
            for point in points_of(size):
                expected = reference.after(colour, as_pair(point)) is not None
                assert board.is_legal(colour, point) == expected, board.diagram()
                kinds.add(board.fault_of(colour, point))
            choices = board.legal_moves(colour)
            assert choices == [p for p in points_of(size) if reference.after(colour, as_pair(p))]
            if not choices:
                board.play(colour, PASS)
                continue
            point = rng.choice(choices)
            board.play(colour, point)
            reference.play(colour, as_pair(point))
            assert stones_of(board) == reference.stones
    assert {None, "occupied", "superko" if size == 2 else "ko"} <= kinds
    assert ("suicide" in kinds) != suicide_allowed


def perft(board: Position, depth: int) -> int:
    """Sequences of moves, passes among them, with positional superko."""
    if depth == 0 or board.is_over:
        return 1
    total = 0
    for point in [PASS, *board.legal_moves(board.to_move)]:
        board.play(board.to_move, point)
        total += perft(board, depth - 1)
        board.undo()
    return total


def reference_perft(board: Reference, colour: int, depth: int, passes: int = 0) -> int:
    if depth == 0 or passes == 2:
        return 1
    total = reference_perft(board, 3 - colour, depth - 1, passes + 1)
    for point in [(row, column) for row in range(board.size) for column in range(board.size)]:
        after = board.after(colour, point)
        if after is not None:
            before, board.stones = board.stones, after
            board.seen.add(frozenset(after.items()))
            total += reference_perft(board, 3 - colour, depth - 1)
            board.seen.remove(frozenset(after.items()))
            board.stones = before
    return total


@pytest.mark.parametrize(("size", "depth"), [(2, 7), (3, 4)])
@pytest.mark.parametrize("suicide_allowed", [False, True])
def test_as_many_games_are_possible_as_in_the_reference(size, depth, suicide_allowed):
    ours = perft(Position(size, suicide_allowed=suicide_allowed), depth)
    assert ours == reference_perft(Reference(size, suicide_allowed), BLACK, depth)


@pytest.mark.parametrize(("size", "count"), [(2, 57), (3, 12_675)])
def test_all_legal_positions_are_reached(size, count):
    """Tromp and Farnebäck 2006, "Combinatorics of Go"."""
    from landmark.go.rules import moves
    from landmark.go.rules.moves import U
    from landmark.go.rules.state import empty_state

    todo = [empty_state(size)]
    seen = {todo[0][0]["hash"]}
    while todo:
        states = todo.pop()
        for point in points_of(size):
            for colour in (BLACK, WHITE):
                states[0]["ko"] = 0
                if moves.is_legal(states[0], U(point), U(colour)):
                    after = states.copy()
                    moves.play(after[0], U(point), U(colour))
                    if after[0]["hash"] not in seen:
                        seen.add(after[0]["hash"])
                        todo.append(after)
    assert len(seen) == count


@pytest.mark.parametrize("size", [5, 9, 13, 19])
def test_captures_and_area_are_sgfmills(size):
    rng = random.Random(size)
    captures = 0
    for _ in range(6):
        board, other = Position(size, komi=0), Board(size)
        for _ in range(3 * size * size):
            point = rng.choice(points_of(size))
            if not board.is_legal(board.to_move, point):
                continue
            colour = board.to_move
            captures += board.play(colour, point)
            other.play(size - 1 - row_of(point), column_of(point), " bw"[colour])
            if rng.random() < 0.1:
                assert board.score() == other.area_score()
        ours = {(size - 1 - row, column): "bw"[c - 1] for (row, column), c in
                stones_of(board).items()}  # fmt: skip
        assert ours == {point: colour for colour, point in other.list_occupied_points()}
    assert captures > 30


def test_liberties_and_chains_are_what_a_walk_over_the_board_finds():
    rng, size = random.Random(1), 9
    for _ in range(5):
        board = Position(size)
        for _ in range(150):
            choices = board.legal_moves(board.to_move)
            board.play(board.to_move, rng.choice(choices) if choices else PASS)
        reference = Reference(size)
        reference.stones = stones_of(board)
        for colour in (BLACK, WHITE):
            for stone in board.stones(colour):
                chain, lives = reference.chain(reference.stones, as_pair(stone))
                assert {as_pair(p) for p in board.chain(stone)} == chain
                assert lives
                near = {n for p in chain for n in reference.around(p)}
                free = {point_at(*n) for n in near if n not in reference.stones}
                assert board.liberties(stone) == free


def test_the_sums_of_liberties_tell_atari_and_the_last_liberty():
    from landmark.go.rules import moves
    from landmark.go.rules.moves import U

    rng, found = random.Random(2), 0
    for _ in range(10):
        board = Position(9)
        for _ in range(120):
            choices = board.legal_moves(board.to_move)
            board.play(board.to_move, rng.choice(choices) if choices else PASS)
            for stone in (*board.stones(BLACK), *board.stones(WHITE)):
                head = U(board.state["chain"][stone])
                liberties = board.liberties(stone)
                assert moves.in_atari(board.state, head) == (len(liberties) == 1)
                if len(liberties) == 1:
                    assert {moves.last_liberty(board.state, head)} == liberties
                    found += 1
    assert found > 100


def test_a_ko_may_be_retaken_after_another_move():
    board = position("C4 B3 D3 C2", "D4 E3 D2", to_move=WHITE)
    board.play(WHITE, parse_vertex("A9", 9))
    board = position("C4 B3 C2 D3", "D4 E3 D2", to_move=WHITE)
    c3, d3 = points("C3 D3", 9)
    assert board.play(WHITE, c3) == 1
    assert board.fault_of(BLACK, d3) == "ko"
    with pytest.raises(IllegalMoveError, match="black D3 is illegal: ko"):
        board.play(BLACK, d3)
    board.play(BLACK, parse_vertex("J9", 9))
    board.play(WHITE, parse_vertex("J1", 9))
    assert board.play(BLACK, d3) == 1


def test_undo_takes_back_moves_and_stones_set_up_with_their_history():
    board = position("C4 B3 C2 D3", "D4 E3 D2", to_move=WHITE)
    before = board.diagram()
    board.play(WHITE, parse_vertex("C3", 9))
    board.play(BLACK, PASS)
    board.play(WHITE, PASS)
    assert board.is_over
    assert board.fault_of(BLACK, parse_vertex("D3", 9)) == "superko"
    assert [board.undo() for _ in range(3)] == [True, True, True]
    assert board.diagram() == before
    assert board.undo()
    assert not board.stones(BLACK)
    assert not board.undo()


def test_stones_set_up_belong_to_the_history_of_superko():
    board = position("C4 B3 C2 D3", "D4 E3 D2", to_move=WHITE)
    assert len(board.history()) == 2
    board.play(WHITE, parse_vertex("C3", 9))
    board.play(BLACK, PASS)
    board.play(WHITE, PASS)  # no simple ko any more, but the position was set up
    assert not board.is_legal(BLACK, parse_vertex("D3", 9))


@pytest.mark.parametrize("black", ["A9 A9", "A9 B9 A8 B8"])
def test_stones_without_liberties_or_twice_cannot_be_set_up(black):
    white = "C9 C8 A7 B7" if black != "A9 A9" else ""
    with pytest.raises(UserError, match=r"twice|without a liberty"):
        position(black, white)


def test_suicide_of_several_stones_is_played_where_it_is_allowed():
    board = Position(9, suicide_allowed=True)
    board.set_up(points("A9", 9), points("C9 A8 B8", 9))
    assert board.is_legal(BLACK, parse_vertex("B9", 9))
    board.play(BLACK, parse_vertex("B9", 9))
    assert board.stones(BLACK) == []
    assert board.captured(BLACK) == 2
    assert position("A9", "C9 A8 B8").fault_of(BLACK, parse_vertex("B9", 9)) == "suicide"


def test_dead_stones_count_as_the_opponents_area():
    board = position("D9 D8 D7 D6 D5 D4 D3 D2 D1 B5", "E9 E8 E7 E6 E5 E4 E3 E2 E1 G5")
    assert board.score() == 36 - 45 - 7
    board = position("D9 D8 D7 D6 D5 D4 D3 D2 D1", "E9 E8 E7 E6 E5 E4 E3 E2 E1 B5")
    assert board.score() == 9 - 46 - 7
    assert board.score(dead=points("B5", 9)) == 36 - 45 - 7


def test_nobody_owns_a_point_between_both():
    board = position("A1", "B1", size=2)
    area = board.area()
    assert [int(area[p]) for p in points("A1 B1 A2 B2", 2)] == [BLACK, WHITE, 0, 0]
    assert position("A1", size=2).score() == 4 - 7


def test_white_gets_a_point_for_each_handicap_stone():
    board = Position(9, komi=0.5)
    board.place_handicap(points("C3 G7"))
    assert board.to_move == WHITE
    assert board.score() == 81 - 0.5 - 2


@pytest.mark.parametrize("size", [2, 5, 9])
def test_symmetries_map_games_on_games(size):
    rng = random.Random(0)
    table = symmetric_points(size)
    assert len({tuple(row) for row in table}) == 8
    boards = [Position(size) for _ in table]
    for _ in range(60):
        colour = boards[0].to_move
        choices = boards[0].legal_moves(colour)
        point = rng.choice(choices) if choices else PASS
        for board, image in zip(boards, table, strict=True):
            assert board.is_legal(colour, int(image[point]))
            board.play(colour, int(image[point]))
            assert sorted(image[boards[0].stones(colour)]) == board.stones(colour)
            assert board.score() == boards[0].score()


def test_names_of_points_are_read_back():
    for size in (2, 9, 19):
        for point in [PASS, *points_of(size)]:
            assert parse_vertex(vertex(point, size).lower(), size) == point
    assert vertex(point_at(0, 8), 19) == "J19"
    for text in ("", "I5", "K5", "A0", "A10", "5", "A", "A1x", "A²", "Ä1"):
        assert parse_vertex(text, 9) is None


def test_games_are_openspiels_up_to_the_first_repetition():
    import tests.openspiel_beside  # noqa: F401  skips where OpenSpiel is missing
    from benchmarks.go_agreement import against_open_spiel

    assert against_open_spiel(100)["positions"] > 10_000
