"""Exact liberties: of all chains on a board, and of the chain that a move would make.

Nothing here writes to a state.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import EAST, NORTH, NUM_POINTS, SOUTH, WEST
from landmark.go.rules.moves import colour_in, neighbour
from landmark.go.rules.shape import DIRECT, HAS_EMPTY
from landmark.go.rules.state import State

U = np.uint64


@compiled
def count_liberties(state: State, liberties: np.ndarray) -> None:
    """The liberties of every chain, by its head. Entry 0 is overwritten with nonsense."""
    liberties[:] = 0
    chain = state.chain
    for index in range(U(state.num_empties)):
        point = U(state.empties[index])
        north, west = chain[point - NORTH], chain[point - WEST]
        east, south = chain[point + EAST], chain[point + SOUTH]
        liberties[north] += 1
        if west != north:
            liberties[west] += 1
        if east != north and east != west:
            liberties[east] += 1
        if south != north and south != west and south != east:
            liberties[south] += 1


@compiled
def is_move(state: State, liberties: np.ndarray, point: U, colour: U) -> bool:
    """Whether an empty point is legal for the colour to move, without superko."""
    if point == U(state.ko):
        return False
    code = U(state.code[point])
    if DIRECT[code & U(255)] & HAS_EMPTY or state.suicide_allowed != 0:
        return True
    for k in range(4):
        found = colour_in(code, k)
        if found != U(3):
            others = liberties[U(state.chain[neighbour(point, k)])] != 1
            if (found == colour) == others:
                return True
    return False


@inlined
def _mark_around(
    state: State, liberties: np.ndarray, stone: U, point: U, colour: U, marks: np.ndarray
) -> int:
    """How many liberties a stone adds, after a move at a point; they are marked."""
    code = U(state.code[stone])
    added = 0
    for k in range(4):
        found = colour_in(code, k)
        if found == colour or found == U(3):
            continue
        near = neighbour(stone, k)
        if marks[near] == marks[0]:
            continue
        if found != U(0):  # captured, if the move takes its last liberty
            chain = U(state.chain[near])
            if liberties[chain] != 1 or not is_beside(state, point, chain):
                continue
        marks[near] = marks[0]
        added += 1
    return added


@inlined
def is_beside(state: State, point: U, chain: U) -> bool:
    """Whether a point is beside a chain."""
    heads = state.chain
    return (
        U(heads[point - NORTH]) == chain
        or U(heads[point - WEST]) == chain
        or U(heads[point + EAST]) == chain
        or U(heads[point + SOUTH]) == chain
    )


@compiled
def liberties_of_move(
    state: State, liberties: np.ndarray, point: U, colour: U, most: int, marks: np.ndarray
) -> int:
    """Liberties of the chain that a stone played here would belong to, after captures.

    Counting ends at `most`. `marks` is scratch; its entry 0 counts the calls.
    """
    marks[0] += 1
    marks[point] = marks[0]
    count = _mark_around(state, liberties, point, point, colour, marks)
    code = U(state.code[point])
    for k in range(4):
        if colour_in(code, k) != colour:
            continue
        head = U(state.chain[neighbour(point, k)])
        stone = head
        while count < most:
            count += _mark_around(state, liberties, stone, point, colour, marks)
            stone = U(state.next[stone])
            if stone == head:
                break
    return min(count, most)


@compiled
def scratch_counts() -> tuple[np.ndarray, np.ndarray]:
    """Room for liberties by head, and for marks by point."""
    return np.zeros(NUM_POINTS, np.uint16), np.zeros(NUM_POINTS, np.uint32)
