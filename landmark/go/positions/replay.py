"""A game's moves played through by compiled code, each position packed and hashed on the way."""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.positions.packed import empty_records, pack_state
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import U, is_legal, play
from landmark.go.rules.state import ZOBRIST, State, empty_state
from landmark.go.rules.symmetry import symmetric_points

_KO, _WHITE = U(0x9E3779B97F4A7C15), U(0xD1B54A32D192ED03)
"""Odd numbers that tell a ko from a stone, and whose turn it is."""


@compiled
def canonical_hash(state: State, symmetries: np.ndarray) -> U:
    """The same for positions that are equal but for a symmetry: stones, turn and ko."""
    least = ~U(0)
    for number in range(len(symmetries)):
        to = symmetries[number]
        total = U(0)
        for row in range(U(state.size)):
            start = (row + U(1)) * U(STRIDE) + U(1)
            for point in range(start, start + U(state.size)):
                total ^= ZOBRIST[state.colour[point], U(to[point])]
        if state.ko != 0:
            total ^= ZOBRIST[1, U(to[state.ko])] * _KO
        least = min(least, total)
    if state.to_move == 2:
        least ^= _WHITE
    least = (least ^ (least >> U(30))) * U(0xBF58476D1CE4E5B9)  # the least of eight is small: mix
    least = (least ^ (least >> U(27))) * U(0x94D049BB133111EB)
    return least ^ (least >> U(31))


@compiled
def _replay(
    states: np.ndarray,
    points: np.ndarray,
    colours: np.ndarray,
    symmetries: np.ndarray,
    packed: np.ndarray,
    hashes: np.ndarray,
) -> int:
    """Play the moves and pack the position before each; the number of moves that are legal."""
    state = states[0]
    for number in range(len(points)):
        point, colour = U(points[number]), U(colours[number])
        record = packed[number]
        if colour != U(state.to_move):  # a move out of turn, as after a pass that was not noted
            state.to_move = colour
            state.ko = 0
        pack_state(state, int(state.size), record)
        record.move = points[number]
        hashes[number] = canonical_hash(state, symmetries)
        if not is_legal(state, point, colour):
            return number
        play(state, point, colour)
    hashes[len(points)] = canonical_hash(state, symmetries)
    return len(points)


def replay(
    points: np.ndarray, colours: np.ndarray, size: int
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The number of legal moves, the packed positions before each, the hashes of all positions
    up to symmetry (one more), and the last state, as an array of one."""
    packed = empty_records(len(points), size)
    states, hashes = empty_state(size), np.zeros(len(points) + 1, np.uint64)
    symmetries = symmetric_points(size).astype(np.uint16)
    legal = _replay(
        states, points.astype(np.uint16), colours.astype(np.uint8), symmetries, packed, hashes
    )
    return legal, packed, hashes, states
