"""Which moves capture by a ladder, and which escape from one."""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.features.liberty import is_move
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import colour_in, last_liberty, neighbour, opposite, play
from landmark.go.rules.state import State
from landmark.go.search.ladder import catches
from landmark.go.search.tactics import find_liberties
from landmark.go.search.workspace import LADDER_DEPTH, Workspace

U = np.uint64
_FLED = LADDER_DEPTH + 3
"""The scratch state after an escape is tried; ladders are read on those before it."""


@compiled
def escapes_by(scratch: np.ndarray, work: Workspace, state: State, stone: U, point: U) -> bool:
    """Whether a legal move saves a chain in atari from being caught at once or in a ladder."""
    scratch[_FLED] = state
    fled = scratch[_FLED]
    play(fled, point, U(state.to_move))
    count = find_liberties(fled, work, U(fled.chain[stone]))
    if count != 2:
        return count > 2
    one, other = U(work.liberties[0]), U(work.liberties[1])
    return not (
        catches(scratch, work, fled, stone, one) or catches(scratch, work, fled, stone, other)
    )


@compiled
def _mark(planes: np.ndarray, point: U, size: U) -> None:
    planes[(point // U(STRIDE) - U(1)) * size + point % U(STRIDE) - U(1)] = 1


@compiled
def _mark_escapes(
    state: State,
    size: U,
    liberties: np.ndarray,
    scratch: np.ndarray,
    work: Workspace,
    head: U,
    escapes: np.ndarray,
) -> None:
    """Extensions of a chain in atari, and captures beside it, that save it."""
    colour = U(state.to_move)
    liberty = last_liberty(state, head)
    if is_move(state, liberties, liberty, colour) and escapes_by(
        scratch, work, state, head, liberty
    ):
        _mark(escapes, liberty, size)
    stone = head
    while True:
        code = U(state.code[stone])
        for k in range(4):
            chain = U(state.chain[neighbour(stone, k)])
            if colour_in(code, k) == opposite(colour) and liberties[chain] == 1:
                point = last_liberty(state, chain)
                if is_move(state, liberties, point, colour) and escapes_by(
                    scratch, work, state, head, point
                ):
                    _mark(escapes, point, size)
        stone = U(state.next[stone])
        if stone == head:
            break


@compiled
def mark_ladders(
    state: State,
    size: U,
    liberties: np.ndarray,
    scratch: np.ndarray,
    work: Workspace,
    captures: np.ndarray,
    escapes: np.ndarray,
) -> None:
    """Mark moves, row by row, that catch a chain with two liberties, or save one in atari."""
    colour = U(state.to_move)
    for row in range(U(1), size + U(1)):
        for point in range(row * U(STRIDE) + U(1), row * U(STRIDE) + size + U(1)):
            head = U(point)
            if U(state.chain[head]) != head:
                continue
            if U(state.colour[head]) == colour:
                if liberties[head] == 1:
                    _mark_escapes(state, size, liberties, scratch, work, head, escapes)
            elif liberties[head] == 2:
                find_liberties(state, work, head)
                one, other = U(work.liberties[0]), U(work.liberties[1])
                if catches(scratch, work, state, head, one):
                    _mark(captures, one, size)
                if catches(scratch, work, state, head, other):
                    _mark(captures, other, size)
