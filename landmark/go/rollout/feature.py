"""The features of a move, for training and for playing alike."""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rollout.layout import (
    CAPTURE,
    DIAMOND,
    DIAMOND_POINTS,
    EXTENSION,
    LOCATION,
    NAKADE,
    NEAR_OWN,
    NUM_DIAMONDS,
    NUM_LINES,
    SAVE,
)
from landmark.go.rollout.pattern import CANONICAL, NORMALISED, OUTER_TURNED, SLOTS, SYMMETRIES
from landmark.go.rules.geometry import EAST, NORTH, SOUTH, STRIDE, WEST
from landmark.go.rules.moves import colour_in, in_atari, neighbour
from landmark.go.rules.state import State
from landmark.go.search.life import find_vital_points
from landmark.go.search.tactics import find_urgent_moves
from landmark.go.search.workspace import Workspace

U = np.uint64
_HASH = U(0x9E3779B97F4A7C15)
_SHIFT = U(64 - (NUM_DIAMONDS.bit_length() - 1))


@inlined
def pattern_of(state: State, point: U, colour: U) -> U:
    """The canonical 3x3 pattern around a point, as a colour sees it."""
    return U(CANONICAL[NORMALISED[colour, state.code[point]]])


@compiled
def location_of(state: State, point: U) -> int:
    """The feature of the lines that a point is on."""
    row, column = int(point) // STRIDE, int(point) % STRIDE
    far = int(state.size) + 1
    one, other = min(row, far - row), min(column, far - column)
    low, high = min(one, other, NUM_LINES), min(max(one, other), NUM_LINES)
    return LOCATION + (low - 1) * NUM_LINES + high - 1


@inlined
def size_class(stones: int) -> int:
    if stones < 3:
        return stones - 1
    return 2 if stones < 5 else 3


@inlined
def atari_feature(state: State, code: U, point: U, k: int, colour: U) -> int:
    """The feature of the chain beside an empty point if it is in atari; -1: it is not."""
    found = colour_in(code, k)
    if found == U(0) or found == U(3):
        return -1
    chain = U(state.chain[neighbour(point, k)])
    if not in_atari(state, chain):
        return -1
    return (EXTENSION if found == colour else CAPTURE) + size_class(int(state.chain_size[chain]))


@inlined
def diamond_point(point: U, k: int) -> U:
    """The k-th point of a diamond: the eight neighbours of a code, then those two steps away."""
    if k < 4:
        return neighbour(point, k)
    if k == 4:
        return point - NORTH - WEST
    if k == 5:
        return point - NORTH + EAST
    if k == 6:
        return point + SOUTH - WEST
    if k == 7:
        return point + SOUTH + EAST
    return U(2) * neighbour(point, k - 8) - point


@inlined
def _outer_code(state: State, point: U, code: U) -> U:
    """The colours of the points two steps away; beyond a border is border."""
    outer = U(0)
    for k in range(4):
        found = U(3)
        if colour_in(code, k) != U(3):
            found = U(state.colour[U(2) * neighbour(point, k) - point])
        outer |= found << U(2 * k)
    return outer


@compiled
def _diamond_of(state: State, last: U, colour: U) -> tuple[int, int]:
    """The first feature of the diamond around a move, and the bits of the symmetries that bring it
    to its canonical form."""
    code = U(state.code[last])
    outer = _outer_code(state, last, code)
    seen = U(NORMALISED[colour, code])
    outer = U(NORMALISED[colour, outer])
    bits = U(SYMMETRIES[seen])
    best, symmetries = U(256), 0
    for number in range(8):
        if (bits >> U(number)) & U(1):
            turned = U(OUTER_TURNED[number, outer])
            if turned < best:
                best, symmetries = turned, 0
            if turned == best:
                symmetries |= 1 << number
    chain = U(state.chain[last])
    key = U(CANONICAL[seen]) | (best << U(16))
    if chain != U(0) and in_atari(state, chain):
        key |= U(1) << U(24)
    row = ((key + U(1)) * _HASH) >> _SHIFT
    return DIAMOND + int(row) * DIAMOND_POINTS, symmetries


@inlined
def _respond(work: Workspace, point: U, feature: int) -> None:
    work.response_points[work.num_responses] = point
    work.response_features[work.num_responses] = feature
    work.num_responses += 1


@inlined
def _respond_candidates(work: Workspace, feature: int) -> None:
    """The feature for each candidate, once."""
    for number in range(work.num_candidates):
        point = work.candidates[number]
        is_new = True
        for earlier in range(number):
            is_new &= work.candidates[earlier] != point
        if is_new:
            _respond(work, U(point), feature)


@compiled
def list_responses(state: State, work: Workspace, colour: U) -> None:
    """The features that depend on the last moves, of the empty points that have some."""
    work.num_responses = 0
    last, before = U(state.last), U(state.before_last)
    if last != U(0):
        first, symmetries = _diamond_of(state, last, colour)
        slots = SLOTS[symmetries]
        around = U(state.code[last])
        for k in range(DIAMOND_POINTS):
            if k > 7 and colour_in(around, k - 8) == U(3):
                continue
            point = diamond_point(last, k)
            if state.colour[point] == 0:
                _respond(work, point, first + int(slots[k]))
        work.num_candidates = 0
        find_urgent_moves(state, work, colour)
        _respond_candidates(work, SAVE)
        work.num_candidates = 0
        find_vital_points(state, work, colour)
        _respond_candidates(work, NAKADE)
    if before != U(0):
        for k in range(8):
            point = diamond_point(before, k)
            if state.colour[point] == 0:
                _respond(work, point, NEAR_OWN + (k > 3))
