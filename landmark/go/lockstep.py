"""Many games played in step: all positions are judged together, then every game makes a move.

For players without a search: moves are legal (simple ko), and fill no eye of one's own, as in
AlphaGo's playouts and self-play. A player passes when it has no other move. A game that is too long
ends where it is; games are counted by area.
"""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.geometry import NUM_POINTS, points_of
from landmark.go.rules.moves import is_legal, is_own_eye, play
from landmark.go.rules.scoring import mark_area
from landmark.go.rules.state import empty_state

U = np.uint64
_LENGTH = 3
"""Moves of the longest games, for each point of the board."""


@compiled
def _mark_sensible(states: np.ndarray, points: np.ndarray, found: np.ndarray) -> None:
    """Legal moves that fill no own eye, by number of the point."""
    for row in range(len(states)):
        state = states[row]
        colour = U(state.to_move)
        for number in range(len(points)):
            point = U(points[number])
            found[row, number] = (
                state.colour[point] == 0
                and is_legal(state, point, colour)
                and not is_own_eye(state, point, colour)
            )


@compiled
def _play_all(states: np.ndarray, points: np.ndarray) -> None:
    """One move in each game; 0: a pass."""
    for row in range(len(states)):
        state = states[row]
        play(state, U(points[row]), U(state.to_move))


@compiled
def _count_all(states: np.ndarray, balances: np.ndarray) -> None:
    """Black's points minus White's, by area."""
    dead = np.zeros(NUM_POINTS, np.uint8)
    owner = np.zeros(NUM_POINTS, np.uint8)
    for row in range(len(states)):
        balances[row] = mark_area(states[row], dead, owner)


class LockstepGames:
    """B games of one size from the empty board on."""

    def __init__(self, count: int, size: int = 9, komi: float = 7.0) -> None:
        self.size, self.komi = size, komi
        self.states = np.repeat(empty_state(size), count)
        self.points = np.array(points_of(size), np.uint16)
        self.num_moves = np.zeros(count, np.int64)

    def running(self) -> np.ndarray:
        """The numbers of the games that go on."""
        too_long = self.num_moves >= _LENGTH * self.size * self.size
        return np.flatnonzero((self.states["passes"] < 2) & ~too_long)

    def sensible(self, games: np.ndarray) -> np.ndarray:
        """Which points may be played: legal, and no eye of one's own. (G, A)"""
        found = np.zeros((len(games), len(self.points)), np.bool_)
        _mark_sensible(self.states[games], self.points, found)
        return found

    def play(self, games: np.ndarray, moves: np.ndarray) -> None:
        """A move in each of these games, by number of the point; A is a pass."""
        by_move = np.append(self.points, 0)
        states = self.states[games]
        _play_all(states, by_move[moves])
        self.states[games] = states
        self.num_moves[games] += 1

    def results(self) -> np.ndarray:
        """1 where Black wins, 0 where White does, 0.5: a draw. (B,)"""
        balances = np.zeros(len(self.states), np.int64)
        _count_all(self.states, balances)
        return (np.sign(balances - self.komi) + 1) / 2

    def colours(self, games: np.ndarray) -> np.ndarray:
        """Who is to move. (G,)"""
        found: np.ndarray = self.states["to_move"][games]
        return found
