"""Games in step beside single games of Position, and the area count of sgfmill."""

import numpy as np
from sgfmill import boards

from landmark.go.lockstep import LockstepGames
from landmark.go.rules.geometry import BLACK, PASS, column_of, row_of
from landmark.go.rules.moves import is_own_eye
from landmark.go.rules.position import Position

U = np.uint64
SIZE, KOMI = 5, 1.0


def play_at_random(count: int) -> tuple[LockstepGames, list[list[int]]]:
    rng = np.random.default_rng(3)
    games = LockstepGames(count, SIZE, KOMI)
    played: list[list[int]] = [[] for _ in range(count)]
    while len(running := games.running()):
        allowed = games.sensible(running)
        moves = np.where(allowed.any(1), (rng.random(allowed.shape) * allowed).argmax(1), SIZE**2)
        for game, move in zip(running, moves, strict=True):
            played[game].append(PASS if move == SIZE**2 else int(games.points[move]))
        games.play(running, moves)
    return games, played


def test_sensible_moves_are_the_legal_ones_that_fill_no_eye() -> None:
    _, played = play_at_random(8)
    again = LockstepGames(8, SIZE, KOMI)
    positions = [Position(SIZE, KOMI) for _ in range(8)]
    for ply in range(max(map(len, played))):
        running = again.running()
        allowed = again.sensible(running)
        for row, game in enumerate(running):
            position = positions[game]
            for number, point in enumerate(again.points):
                fault = position.fault_of(position.to_move, int(point))
                fills = is_own_eye(position.state, U(point), U(position.to_move))
                expected = fault in (None, "superko") and not fills  # simple ko is all there is
                assert allowed[row, number] == expected
            state = position.state.copy()
            assert state["hash"] == again.states[game]["hash"]
        moves = [played[game][ply] for game in running]
        numbers = {int(point): k for k, point in enumerate(again.points)} | {PASS: SIZE**2}
        again.play(running, np.array([numbers[move] for move in moves]))
        for game, move in zip(running, moves, strict=True):
            if positions[game].fault_of(positions[game].to_move, move) == "superko":
                return  # from here on the two rules differ
            positions[game].play(positions[game].to_move, move)


def test_results_are_those_of_sgfmills_area_count() -> None:
    games, _ = play_at_random(20)
    assert (games.states["passes"] == 2).sum() > 10
    for state, result in zip(games.states, games.results(), strict=True):
        board = boards.Board(SIZE)
        for point in games.points:
            if colour := state["colour"][point]:
                place = SIZE - 1 - row_of(int(point)), column_of(int(point))
                board.board[place[0]][place[1]] = "b" if colour == BLACK else "w"
        margin = board.area_score() - KOMI
        assert result == (np.sign(margin) + 1) / 2


def test_a_game_without_end_is_cut_off() -> None:
    games = LockstepGames(1, 2)
    for _ in range(3 * 4):
        running = games.running()
        if not len(running):
            break
        allowed = games.sensible(running)
        games.play(running, np.where(allowed.any(1), allowed.argmax(1), 4))
    assert not len(games.running())
