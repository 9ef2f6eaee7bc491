"""A position in about 90 bytes (9x9), from which its state is made again.

A stone is one bit, row by row from the top left, lowest bit first. Recent moves and points are
written as in a STATE record.
"""

from functools import cache
from typing import Any

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import U, place, recent_move
from landmark.go.rules.state import COLOUR_SHIFT, NUM_RECENT, STATE, State, empty_state

Packed = Any
"""A record of type packed_dtype(size)."""

UNCOUNTED = -(1 << 15)
"""In place of a result in half points."""
IS_TARGET, OWNERSHIP_KNOWN, IS_REPEATED, SEEN_IN_TRAINING = 1, 2, 4, 8
"""Bits of `flags`: the move may be learnt from; the owners at the end of the game are known; an
equal position, up to a symmetry, stands before it in the file; stands in the training games."""
TRAIN, VALID, TEST = 0, 1, 2
"""Values of `split`."""

_POINT = U((1 << COLOUR_SHIFT) - 1)
_COLOUR = U(COLOUR_SHIFT)


@cache
def packed_dtype(size: int) -> np.dtype:
    """The record of one position on a board of a size."""
    num_bytes = (size * size + 7) // 8
    return np.dtype(
        [
            ("score", "f4"),  # estimate for Black before the move, in points; NaN: none
            ("game", "u4"),  # its number in the file
            ("recent", "u2", NUM_RECENT),  # the last moves, the latest first
            ("ko", "u2"),
            ("move", "u2"),  # what was played here: a point, 0 for a pass
            ("ply", "u2"),  # moves before this one
            ("result", "i2"),  # for Black, in half points, komi included; UNCOUNTED: not known
            ("komi", "i2"),  # in half points
            ("winner", "u1"),  # 1 Black, 2 White, 0 a draw
            ("split", "u1"),
            ("to_move", "u1"),
            ("flags", "u1"),
            ("black", "u1", num_bytes),
            ("white", "u1", num_bytes),
            ("black_owned", "u1", num_bytes),  # at the end of the game
            ("white_owned", "u1", num_bytes),
        ]
    )


@compiled
def pack_colours(colours: np.ndarray, size: int, black: np.ndarray, white: np.ndarray) -> None:
    """Colours by point, as bits."""
    side = U(size)
    black[:] = 0
    white[:] = 0
    for index in range(side * side):
        point = (index // side + U(1)) * U(STRIDE) + index % side + U(1)
        bit = U(1) << (index & U(7))
        if colours[point] == 1:
            black[index >> U(3)] |= bit
        elif colours[point] == 2:
            white[index >> U(3)] |= bit


@compiled
def pack_state(state: State, size: int, record: Packed) -> None:
    """What a state says of its position."""
    pack_colours(state.colour, size, record.black, record.white)
    for age in range(NUM_RECENT):
        record.recent[age] = recent_move(state, age)
    record.ko = state.ko
    record.ply = state.num_moves
    record.to_move = state.to_move


@compiled
def _pack(states: np.ndarray, size: int, packed: np.ndarray) -> None:
    for number in range(len(states)):
        pack_state(states[number], size, packed[number])


@compiled
def _unpack(packed: np.ndarray, size: int, empty: np.ndarray, states: np.ndarray) -> None:
    side = U(size)
    for number in range(len(packed)):
        record = packed[number]
        states[number] = empty[0]
        state = states[number]
        for index in range(side * side):
            point = (index // side + U(1)) * U(STRIDE) + index % side + U(1)
            byte, bit = index >> U(3), index & U(7)
            if (U(record.black[byte]) >> bit) & U(1):
                place(state, point, U(1))
            elif (U(record.white[byte]) >> bit) & U(1):
                place(state, point, U(2))
        _restore_moves(record, state)


@compiled
def _restore_moves(record: Packed, state: State) -> None:
    """Everything but the stones."""
    state.ko = record.ko
    state.to_move = record.to_move
    state.num_moves = record.ply
    state.last = U(record.recent[0]) & _POINT
    state.before_last = U(record.recent[1]) & _POINT
    in_a_row = True
    for age in range(NUM_RECENT):
        move = U(record.recent[age])
        state.recent[(U(record.ply) - U(1) - U(age)) & U(NUM_RECENT - 1)] = move
        in_a_row = in_a_row and move >> _COLOUR != U(0) and move & _POINT == U(0)
        state.passes += in_a_row


def pack_states(states: np.ndarray, size: int) -> np.ndarray:
    """Records of positions, with nothing known yet of the move, the result and the owners."""
    packed = empty_records(len(states), size)
    _pack(states, size, packed)
    return packed


def empty_records(count: int, size: int) -> np.ndarray:
    """Records of which nothing is known."""
    packed = np.zeros(count, packed_dtype(size))
    packed["score"], packed["result"] = np.nan, UNCOUNTED
    return packed


def states_of(packed: np.ndarray, size: int) -> np.ndarray:
    """The STATE records of packed positions: all but the number of captured stones."""
    states = np.empty(len(packed), STATE)
    _unpack(np.array(packed), size, empty_state(size), states)
    return states
