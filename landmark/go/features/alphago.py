"""The feature sets "alphago" and "alphago-value": the planes of the paper, exactly.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search",
Nature 529, Extended Data Table 2. What counts has eight planes: 1, 2, ... 7, and 8 or more.

    0-2     stones of the colour to move, of the opponent, empty points
    3       ones
    4-11    turns since a stone was played
    12-19   liberties of the chain of a stone
    20-27   opponent's stones that a move captures
    28-35   own stones in the chain of a move that leaves it in atari
    36-43   liberties of the chain of a move, after it
    44, 45  moves that capture by a ladder; moves that escape from one
    46      sensible moves: legal, and no own eye is filled
    47      zeros
    48      "alphago-value" only: ones if Black is to move

Where the table leaves a choice: a move that captures nothing is in no plane of 20-27; older stones
count as 8 turns or more; moves are legal but for superko.
"""

import threading

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.features.board import captures_at, index_of
from landmark.go.features.ladder import mark_ladders
from landmark.go.features.liberty import (
    count_liberties,
    is_move,
    liberties_of_move,
    scratch_counts,
)
from landmark.go.rules.geometry import NUM_POINTS, STRIDE
from landmark.go.rules.moves import colour_in, is_own_eye, neighbour, opposite, recent_move
from landmark.go.rules.state import COLOUR_SHIFT, NUM_RECENT, State
from landmark.go.search.ladder import scratch_states
from landmark.go.search.workspace import Workspace, new_workspace

U = np.uint64
OWN, OTHERS, FREE, ONES, TURNS, LIBERTIES, CAPTURES = 0, 1, 2, 3, 4, 12, 20
SELF_ATARI, AFTER, LADDER_CAPTURE, LADDER_ESCAPE, SENSIBLE, BLACK_TO_MOVE = 28, 36, 44, 45, 46, 48
NUM_CHANNELS, NUM_VALUE_CHANNELS = 48, 49
_MOST = 8
_POINT = U((1 << COLOUR_SHIFT) - 1)


@inlined
def _plane(first: int, count: int) -> U:
    """The plane of a count from 1 on."""
    return U(first - 1) + U(min(count, _MOST))


@compiled
def _fill_stones(state: State, size: U, liberties: np.ndarray, planes: np.ndarray) -> None:
    colour = state.to_move
    index = U(0)
    for row in range(U(1), size + U(1)):
        for point in range(row * U(STRIDE) + U(1), row * U(STRIDE) + size + U(1)):
            stone = state.colour[point]
            if stone == 0:
                planes[U(FREE), index] = 1
            else:
                planes[U(stone != colour), index] = 1
                planes[_plane(TURNS, _MOST), index] = 1
                planes[_plane(LIBERTIES, liberties[state.chain[point]]), index] = 1
            index += U(1)
    for age in range(NUM_RECENT - 2, -1, -1):  # the latest last: it counts
        played = recent_move(state, age) & _POINT
        if played != U(0) and state.colour[played] != 0:
            place = index_of(played, size)
            for older in range(_MOST):
                planes[U(TURNS + older), place] = 0
            planes[U(TURNS + age), place] = 1


@compiled
def stones_beside(state: State, liberties: np.ndarray, point: U, colour: U, most: int) -> int:
    """The stones in the chains of a colour beside a point that have at most so many liberties."""
    code = U(state.code[point])
    total = 0
    for k in range(4):
        chain = U(state.chain[neighbour(point, k)])
        if colour_in(code, k) == colour and liberties[chain] <= most:
            is_new = True
            for earlier in range(k):
                is_new &= U(state.chain[neighbour(point, earlier)]) != chain
            if is_new:
                total += state.chain_size[chain]
    return total


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
        if not is_own_eye(state, point, colour):
            planes[U(SENSIBLE), index] = 1
        if captures_at(state, liberties, point, colour):
            taken = stones_beside(state, liberties, point, opposite(colour), 1)
            planes[_plane(CAPTURES, taken), index] = 1
        after = liberties_of_move(state, liberties, point, colour, _MOST, marks)
        if after > 0:  # otherwise suicide, where that is allowed
            planes[_plane(AFTER, after), index] = 1
        if after == 1:
            own = 1 + stones_beside(state, liberties, point, colour, NUM_POINTS)
            planes[_plane(SELF_ATARI, own), index] = 1


@compiled
def _fill(
    states: np.ndarray,
    size: int,
    out: np.ndarray,
    scratch: np.ndarray,
    workspace: np.ndarray,
) -> None:
    side = U(size)
    work: Workspace = workspace[0]
    liberties, marks = scratch_counts()
    for number in range(len(states)):
        state, planes = states[number], out[number]
        planes[:] = 0
        count_liberties(state, liberties)
        _fill_stones(state, side, liberties, planes)
        _fill_moves(state, side, liberties, marks, planes)
        mark_ladders(
            state, side, liberties, scratch, work, planes[LADDER_CAPTURE], planes[LADDER_ESCAPE]
        )
        planes[ONES, :] = 1
        if len(planes) > BLACK_TO_MOVE and state.to_move == 1:
            planes[BLACK_TO_MOVE, :] = 1


class _Scratch(threading.local):
    """What a thread needs for reading ladders."""

    def __init__(self) -> None:
        self.states, self.workspace = scratch_states(), new_workspace(0)


_SCRATCH = _Scratch()


def fill_alphago(states: np.ndarray, size: int, komi: np.ndarray, out: np.ndarray) -> None:
    """Fill planes (B, 48 or 49, points); the paper's networks are not told of komi."""
    _fill(states, size, out, _SCRATCH.states, _SCRATCH.workspace)
