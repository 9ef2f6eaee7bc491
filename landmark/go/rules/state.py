"""The layout of a position: one flat record, copied by one memcpy.

A chain is named by one of its stones, its head. Its stones form a ring (`next`), and two chains
become one by exchanging two links. Of a chain's liberties only sums are kept, over every pair of a
stone and an empty neighbour (so a liberty beside two stones counts twice): their number, the sum
of the points and the sum of their squares, packed into one integer. Merging adds two integers, and

    number * sum of squares == (sum of points) ** 2

exactly if all of them are the same point (Cauchy and Schwarz), that is, in atari.

`code` holds the eight neighbours of each point, two bits each, in the order of geometry.OFFSETS:
eyes and patterns are one look-up, and the low byte tells the colours of the direct neighbours.
"""

from typing import Any

import numpy as np

from landmark.go.rules.geometry import (
    AREA,
    BLACK,
    BORDER,
    EMPTY,
    NUM_POINTS,
    OFFSETS,
    STRIDE,
    points_of,
)

State = Any
"""A record of type STATE; numba's types do not speak mypy's language."""

NUM_RECENT = 8
COLOUR_SHIFT = 9
"""A recent move is its point and, from this bit on, its colour; 0: there was none."""

STATE = np.dtype(
    [
        ("hash", "u8"),  # of the stones alone
        ("liberties", "i8", NUM_POINTS),  # by head: packed sums
        ("chain", "u2", NUM_POINTS),  # the head; 0 where there is no stone
        ("next", "u2", NUM_POINTS),  # the ring of a chain's stones
        ("chain_size", "u2", NUM_POINTS),  # by head
        ("code", "u2", NUM_POINTS),
        ("empty_index", "u2", NUM_POINTS),  # where an empty point stands in `empties`
        ("empties", "u2", AREA),
        ("colour", "u1", NUM_POINTS),
        ("num_empties", "u2"),
        ("ko", "u2"),  # where to_move may not play now; 0: nowhere
        ("last", "u2"),  # the last two moves, for what is near them
        ("before_last", "u2"),
        ("num_moves", "u2"),  # passes among them, since the board was empty or set up
        ("recent", "u2", NUM_RECENT),  # the last moves: a ring, see recent_move in moves.py
        ("to_move", "u1"),
        ("passes", "u1"),  # passes in a row
        ("size", "u1"),
        ("suicide_allowed", "u1"),
        ("captured", "u2", 3),  # stones of each colour taken off the board
    ],
    align=True,
)

_POINT = np.arange(NUM_POINTS, dtype=np.int64)
SUM_SHIFT, COUNT_SHIFT = 28, 48
SQUARES_MASK, SUM_MASK = (1 << SUM_SHIFT) - 1, (1 << (COUNT_SHIFT - SUM_SHIFT)) - 1
LIBERTY = (np.int64(1) << COUNT_SHIFT) | (_POINT << SUM_SHIFT) | (_POINT * _POINT)
"""What one liberty adds to its chain. A 19x19 board has 684 lines between neighbours, so the sums
stay below 684 * 420 < 2**20 and 684 * 420**2 < 2**28: nothing runs over."""


def _zobrist() -> np.ndarray:
    """A random number for each colour on each point, the same in every process."""
    numbers = np.random.Generator(np.random.PCG64(20160127))
    table = numbers.integers(1, 2**63, size=(BORDER, NUM_POINTS), dtype=np.uint64)
    table[EMPTY] = 0
    return table


ZOBRIST = _zobrist()


def empty_state(size: int, suicide_allowed: bool = False) -> np.ndarray:
    """An array of one record: the empty board, Black to move."""
    states = np.zeros(1, STATE)
    state = states[0]
    state["size"], state["to_move"], state["suicide_allowed"] = size, BLACK, suicide_allowed
    points = points_of(size)
    state["colour"] = BORDER
    state["colour"][points] = EMPTY
    state["empties"][: len(points)] = points
    state["empty_index"][points] = range(len(points))
    state["num_empties"] = len(points)
    board = np.pad(state["colour"].astype(np.int64), STRIDE + 1, constant_values=BORDER)
    codes = sum(board[STRIDE + 1 + _POINT + step] << 2 * k for k, step in enumerate(OFFSETS))
    state["code"][points] = np.asarray(codes)[points]
    return states
