"""The feature set "board": what is cheap to know of a position, all seen by the colour to move.

0, 1    stones of the colour to move, of the opponent
2       ones, so that a convolution sees the edge
3-5     own chains with 1, 2, 3 liberties
6-8     the opponent's chains with 1, 2, 3 liberties
9-13    the last five moves, the latest first
14      where the ko forbids to play
15      legal moves
16      legal moves that leave their chain in atari
17      legal moves that capture
18      ones if the opponent has just passed
19      komi / 10 for the colour to move: negative for Black
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.features.liberty import (
    count_liberties,
    is_move,
    liberties_of_move,
    scratch_counts,
)
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import colour_in, neighbour, opposite, recent_move
from landmark.go.rules.state import COLOUR_SHIFT, State

U = np.uint64
OWN, OTHERS, ONES, OWN_LIBERTIES, OTHERS_LIBERTIES, LAST_MOVES = 0, 1, 2, 3, 6, 9
KO, LEGAL, SELF_ATARI, CAPTURE, PASSED, KOMI = 14, 15, 16, 17, 18, 19
NUM_CHANNELS = 20
_MOST_LIBERTIES, _NUM_LAST = 3, 5
_POINT = U((1 << COLOUR_SHIFT) - 1)


@inlined
def captures_at(state: State, liberties: np.ndarray, point: U, colour: U) -> bool:
    """Whether a legal move takes stones."""
    code, other = U(state.code[point]), opposite(colour)
    found = False
    for k in range(4):
        if colour_in(code, k) == other:
            found |= liberties[U(state.chain[neighbour(point, k)])] == 1
    return found


@inlined
def _has_two_free(code: U) -> bool:
    """Whether two neighbours are empty: no self-atari then."""
    occupied = (code | (code >> U(1))) & U(0b01010101)  # one bit a direct neighbour
    free = occupied ^ U(0b01010101)
    return (free & (free - U(1))) != U(0)


@inlined
def index_of(point: U, size: U) -> U:
    """The place of a point in a plane, row by row."""
    stride = U(STRIDE)
    return (point // stride - U(1)) * size + point % stride - U(1)


@compiled
def _fill_stones(state: State, size: U, liberties: np.ndarray, planes: np.ndarray) -> None:
    colour = state.to_move
    index = U(0)
    for row in range(U(1), size + U(1)):
        for point in range(row * U(STRIDE) + U(1), row * U(STRIDE) + size + U(1)):
            stone = state.colour[point]
            if stone != 0:
                is_others = U(stone != colour)
                planes[is_others, index] = 1
                count = liberties[state.chain[point]]
                if count <= _MOST_LIBERTIES:
                    planes[U(OWN_LIBERTIES - 1) + is_others * U(3) + U(count), index] = 1
            index += U(1)


@compiled
def _fill_moves(
    state: State, size: U, liberties: np.ndarray, marks: np.ndarray, planes: np.ndarray
) -> None:
    colour = U(state.to_move)
    for number in range(U(state.num_empties)):
        point = U(state.empties[number])
        if not is_move(state, liberties, point, colour):
            continue
        index = index_of(point, size)
        planes[U(LEGAL), index] = 1
        if captures_at(state, liberties, point, colour):
            planes[U(CAPTURE), index] = 1
        if _has_two_free(U(state.code[point])):
            continue
        if liberties_of_move(state, liberties, point, colour, 2, marks) == 1:
            planes[U(SELF_ATARI), index] = 1


@compiled
def fill_board(states: np.ndarray, size: int, komi: np.ndarray, out: np.ndarray) -> None:
    """Fill planes (B, 20, points) of positions; what they held before does not matter."""
    side = U(size)
    liberties, marks = scratch_counts()
    for number in range(len(states)):
        state, planes = states[number], out[number]
        planes[:] = 0
        count_liberties(state, liberties)
        _fill_stones(state, side, liberties, planes)
        _fill_moves(state, side, liberties, marks, planes)
        planes[ONES, :] = 1
        for age in range(_NUM_LAST):
            point = recent_move(state, age) & _POINT
            if point != U(0):
                planes[U(LAST_MOVES + age), index_of(point, side)] = 1
        if state.ko != 0:
            planes[U(KO), index_of(U(state.ko), side)] = 1
        if state.passes != 0:
            planes[PASSED, :] = 1
        planes[KOMI, :] = komi[number] / 10 if state.to_move == 2 else -komi[number] / 10
