"""A game in progress: the board, komi, and the history that superko and undo need."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from landmark.core.errors import UserError
from landmark.go.rules import moves
from landmark.go.rules.geometry import (
    BLACK,
    COLOUR_NAMES,
    COLUMNS,
    EMPTY,
    LARGEST,
    NUM_POINTS,
    OFFSETS,
    PASS,
    SMALLEST,
    WHITE,
    column_of,
    point_at,
    points_of,
    row_of,
    vertex,
)
from landmark.go.rules.scoring import mark_area
from landmark.go.rules.state import State, empty_state

U = np.uint64


class IllegalMoveError(UserError):
    """A move that the rules forbid."""


class Move(NamedTuple):
    colour: int
    point: int
    """0: a pass."""


class Position:
    """A board with its history. Positional superko, area scoring; suicide only where allowed."""

    def __init__(self, size: int = 9, komi: float = 7.0, suicide_allowed: bool = False) -> None:
        if not SMALLEST <= size <= LARGEST:
            raise UserError(f"a {size}x{size} board: sizes go from {SMALLEST} to {LARGEST}")
        self.komi = komi
        self.handicap = 0
        """Black's handicap stones: White gets a point for each, as Chinese rules have it."""
        self._states = [empty_state(size, suicide_allowed)]
        self._moves: list[Move | None] = []
        """None: stones that were set up."""

    @property
    def states(self) -> np.ndarray:
        """The present state, as an array of one record."""
        return self._states[-1]

    @property
    def state(self) -> State:
        return self._states[-1][0]

    @property
    def size(self) -> int:
        return int(self.state["size"])

    @property
    def to_move(self) -> int:
        return int(self.state["to_move"])

    @property
    def is_over(self) -> bool:
        """After two passes in a row."""
        return bool(self.state["passes"] >= 2)

    @property
    def moves(self) -> list[Move]:
        """The moves since the last stones were set up."""
        start = max((k + 1 for k, move in enumerate(self._moves) if move is None), default=0)
        return [move for move in self._moves[start:] if move is not None]

    @property
    def num_moves(self) -> int:
        return sum(move is not None for move in self._moves)

    def moves_since(self, length: int) -> list[int] | None:
        """The points played since the history was so long; None: not simply alternating moves."""
        recent = self._moves[max(0, length - 1) :]
        points = [move.point for move in recent if move is not None]
        colours = [move.colour for move in recent if move is not None]
        alternate = all(a != b for a, b in pairwise([*colours, self.to_move]))
        return points if len(points) == len(recent) and alternate else None

    def captured(self, colour: int) -> int:
        """How many stones of a colour were captured."""
        return int(self.state["captured"][colour])

    def history(self) -> np.ndarray:
        """The hashes of all positions so far, this one last."""
        return np.array([states[0]["hash"] for states in self._states], np.uint64)

    def colour_at(self, point: int) -> int:
        return int(self.state["colour"][point])

    def stones(self, colour: int) -> list[int]:
        """The points with stones of a colour, row by row."""
        return [int(point) for point in np.flatnonzero(self.state["colour"] == colour)]

    def chain(self, point: int) -> list[int]:
        """The stones connected with the one on a point."""
        stones, follow = [point], self.state["next"]
        while int(follow[stones[-1]]) != point:
            stones.append(int(follow[stones[-1]]))
        return stones

    def liberties(self, point: int) -> set[int]:
        """The empty points beside a chain."""
        near = {stone + step for stone in self.chain(point) for step in OFFSETS[:4]}
        return {each for each in near if self.colour_at(each) == EMPTY}

    def fault_of(self, colour: int, point: int) -> str | None:
        """Why a move is illegal; None: it is legal."""
        state = self.state
        if point == PASS:
            return None
        if not 0 < point < NUM_POINTS or state["colour"][point] != EMPTY:
            return "occupied"
        if point == state["ko"] and colour == state["to_move"]:
            return "ko"
        if not moves.is_legal(state, U(point), U(colour)):
            return "suicide"
        if moves.hash_after(state, U(point), U(colour)) in self.history():
            return "superko"
        return None

    def is_legal(self, colour: int, point: int) -> bool:
        return self.fault_of(colour, point) is None

    def legal_moves(self, colour: int) -> list[int]:
        """The points where a colour may play; it may always pass."""
        points = np.array(points_of(self.size), np.uint64)
        count = moves.keep_legal(self.state, points, U(colour), self.history())
        return [int(point) for point in points[:count]]

    def play(self, colour: int, point: int) -> int:
        """Make a move of either colour (0: pass); the number of stones captured."""
        if fault := self.fault_of(colour, point):
            name = vertex(point, self.size)
            raise IllegalMoveError(f"{COLOUR_NAMES[colour]} {name} is illegal: {fault}")
        self._push(Move(colour, point))
        return int(moves.play(self.state, U(point), U(colour)))

    def play_repeating(self, colour: int, point: int) -> None:
        """Make a move that is legal but for superko: for games played by other rules."""
        self._push(Move(colour, point))
        moves.play(self.state, U(point), U(colour))

    def give_turn(self, colour: int) -> None:
        """Let a colour move next; a ko is open to it then, superko is not."""
        if self.to_move != colour:
            self._states[-1] = self._states[-1].copy()
            self.state["to_move"], self.state["ko"] = colour, 0

    def reopened(self) -> "Position":
        """The same game as if nobody had passed: passes in a row count from here."""
        other = self.copy()
        other._states = [*self._states[:-1], self._states[-1].copy()]
        other.state["passes"] = 0
        return other

    def start(self) -> "Position":
        """The position before the first move, with the stones set up."""
        other = self.copy()
        keep = len(self._moves) - len(self.moves)
        other._states, other._moves = self._states[: keep + 1], self._moves[:keep]
        return other

    def undo(self) -> bool:
        """Take back the last move, or the last stones set up; whether there was one."""
        if not self._moves:
            return False
        if self._moves.pop() is None:
            self.handicap = 0
        self._states.pop()
        return True

    def set_up(self, black: Iterable[int], white: Iterable[int], to_move: int = BLACK) -> None:
        """Clear the board and put stones there; every chain must have a liberty."""
        fresh = empty_state(self.size, bool(self.state["suicide_allowed"]))
        for colour, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                if fresh[0]["colour"][point] != EMPTY:
                    raise UserError(f"{vertex(point, self.size)} is set up twice")
                fits = moves.has_liberty_or_captures(fresh[0], U(point), U(colour))
                if not fits or moves.place(fresh[0], U(point), U(colour)):
                    raise UserError(f"{vertex(point, self.size)} leaves stones without a liberty")
        fresh[0]["to_move"], fresh[0]["ko"] = to_move, 0
        self._push(None)
        self._states[-1] = fresh

    def place_handicap(self, points: Sequence[int]) -> None:
        """Begin with Black's stones; White is to move and gets a point for each."""
        self.set_up(points, [], to_move=WHITE)
        self.handicap = len(points)

    def area(self, dead: Iterable[int] = ()) -> np.ndarray:
        """Whose each point is, by point, with dead stones taken off."""
        return self._count(dead)[0]

    def score(self, dead: Iterable[int] = ()) -> float:
        """Black's area minus White's, komi and handicap; without `dead`, all stones live."""
        return self._count(dead)[1] - self.komi - self.handicap

    def _count(self, dead: Iterable[int]) -> tuple[np.ndarray, int]:
        owner, marked = (np.zeros(NUM_POINTS, np.uint8) for _ in range(2))
        marked[list(dead)] = 1
        balance = mark_area(self.state, marked, owner)
        return owner, int(balance)

    def copy(self) -> "Position":
        """The same game, to be played on independently."""
        other = Position.__new__(Position)
        other.komi, other.handicap = self.komi, self.handicap
        other._states, other._moves = list(self._states), list(self._moves)
        return other

    def _push(self, move: Move | None) -> None:
        self._moves.append(move)
        self._states.append(self._states[-1].copy())

    def diagram(self) -> str:
        """The board as text, with coordinates; the last move in brackets."""
        size, last = self.size, int(self.state["last"])
        letters = "   " + " ".join(COLUMNS[:size])
        rows = [letters]
        for row in range(size):
            line = f"{size - row:2} "
            for column in range(size):
                line += f"{'.XO'[self.colour_at(point_at(row, column))]} "
            if last and row_of(last) == row:
                place = 3 + 2 * column_of(last)
                line = f"{line[: place - 1]}({line[place]}){line[place + 2 :]}"
            rows.append(f"{line}{size - row}")
        return "\n".join([*rows, letters])


def winner_of(score: float) -> int:
    """The colour that a score is for; 0: a draw."""
    return EMPTY if score == 0 else BLACK if score > 0 else WHITE


def result_text(score: float) -> str:
    """A score as SGF and GTP write it: B+3.5, W+1, 0."""
    if score == 0:
        return "0"
    return f"{'B' if score > 0 else 'W'}+{abs(score):g}"
