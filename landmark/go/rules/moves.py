"""Placing and removing stones, and which moves are legal: the inner loop of everything.

Colours and points are uint64 in here. Where a line depends on the order of the neighbours, it is
geometry.OFFSETS'.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import EAST, NORTH, SOUTH, WEST
from landmark.go.rules.shape import DIRECT, EYES, HAS_EMPTY
from landmark.go.rules.state import (
    COLOUR_SHIFT,
    COUNT_SHIFT,
    LIBERTY,
    NUM_RECENT,
    SQUARES_MASK,
    SUM_MASK,
    SUM_SHIFT,
    ZOBRIST,
    State,
)

U = np.uint64
_TWO, _THREE, _LOW_BYTE = U(2), U(3), U(255)
_RING, _COLOUR_SHIFT = U(NUM_RECENT - 1), U(COLOUR_SHIFT)


@inlined
def neighbour(point: U, k: int) -> U:
    """The k-th direct neighbour; k is known to the compiler where the loop is unrolled."""
    if k == 0:
        return point - NORTH
    if k == 1:
        return point - WEST
    if k == 2:
        return point + EAST
    return point + SOUTH


@inlined
def colour_in(code: U, k: int) -> U:
    """The colour of the k-th neighbour in a 3x3 code."""
    return (code >> U(2 * k)) & _THREE


@inlined
def opposite(colour: U) -> U:
    return _THREE - colour


@inlined
def liberty_count(state: State, head: U) -> int:
    """Liberties of a chain, one for each stone that they touch: 0 only if there is none."""
    return state.liberties[head] >> COUNT_SHIFT


@inlined
def is_single(liberties: int) -> bool:
    """Whether packed sums are those of one point, however often it counts."""
    count = liberties >> COUNT_SHIFT
    if count > 4 or count == 0:  # a point has four neighbours
        return False
    total = (liberties >> SUM_SHIFT) & SUM_MASK
    return count * (liberties & SQUARES_MASK) == total * total


@inlined
def in_atari(state: State, head: U) -> bool:
    return is_single(state.liberties[head])


@inlined
def last_liberty(state: State, head: U) -> U:
    """The liberty of a chain in atari."""
    liberties = state.liberties[head]
    return U(((liberties >> SUM_SHIFT) & SUM_MASK) // (liberties >> COUNT_SHIFT))


@inlined
def _toggle_codes(state: State, point: U, colour: U) -> None:
    """Write a stone into, or out of, the codes of its eight neighbours."""
    code = state.code
    code[point + SOUTH] ^= np.uint16(colour)
    code[point + EAST] ^= np.uint16(colour << U(2))
    code[point - WEST] ^= np.uint16(colour << U(4))
    code[point - NORTH] ^= np.uint16(colour << U(6))
    code[point + SOUTH + EAST] ^= np.uint16(colour << U(8))
    code[point + SOUTH - WEST] ^= np.uint16(colour << U(10))
    code[point - NORTH + EAST] ^= np.uint16(colour << U(12))
    code[point - NORTH - WEST] ^= np.uint16(colour << U(14))


@inlined
def _add_liberty(state: State, point: U, packed: int) -> None:
    """Add to the chains around a point; where there is none, entry 0 takes it, unread."""
    chain, liberties = state.chain, state.liberties
    liberties[chain[point - NORTH]] += packed
    liberties[chain[point - WEST]] += packed
    liberties[chain[point + EAST]] += packed
    liberties[chain[point + SOUTH]] += packed


@compiled
def remove_chain(state: State, head: U, colour: U) -> int:
    """Take a chain off the board; the number of its stones."""
    point = head
    removed = 0
    while True:
        _toggle_codes(state, point, colour)
        _add_liberty(state, point, LIBERTY[point])
        state.colour[point] = 0
        state.chain[point] = 0
        state.hash ^= ZOBRIST[colour, point]
        index = U(state.num_empties)
        state.empties[index] = point
        state.empty_index[point] = index
        state.num_empties += 1
        removed += 1
        point = U(state.next[point])
        if point == head:
            break
    state.captured[colour] += removed
    return removed


@inlined
def _merge(state: State, one: U, other: U) -> U:
    """Make two chains one, renaming the smaller; the head of both."""
    if state.chain_size[one] < state.chain_size[other]:
        large, small = other, one
    else:
        large, small = one, other
    state.chain_size[large] += state.chain_size[small]
    state.liberties[large] += state.liberties[small]
    point = small
    while True:
        state.chain[point] = large
        point = U(state.next[point])
        if point == small:
            break
    link = state.next[large]
    state.next[large] = state.next[small]
    state.next[small] = link
    return large


@inlined
def _occupy(state: State, point: U, colour: U, code: U) -> None:
    """Put down a stone as a chain of its own, which its neighbours do not know yet."""
    _toggle_codes(state, point, colour)
    _add_liberty(state, point, -LIBERTY[point])
    state.hash ^= ZOBRIST[colour, point]
    state.colour[point] = colour
    state.num_empties -= 1
    index, final = U(state.empty_index[point]), U(state.empties[state.num_empties])
    state.empties[index] = final
    state.empty_index[final] = index
    state.chain[point] = point
    state.next[point] = point
    state.chain_size[point] = 1
    liberties = 0
    for k in range(4):
        if colour_in(code, k) == U(0):
            liberties += LIBERTY[neighbour(point, k)]
    state.liberties[point] = liberties


@compiled
def place(state: State, point: U, colour: U) -> int:
    """Put down a stone and remove what it captures; the number of stones captured.

    The move must be legal. Sets the ko; whose turn it is, and the last moves, are `play`'s.
    """
    code = U(state.code[point])
    other = opposite(colour)
    _occupy(state, point, colour, code)
    head = point
    captured = 0
    where = U(0)
    for k in range(4):
        near = neighbour(point, k)
        found = colour_in(code, k)
        if found == colour:
            chain = U(state.chain[near])
            if chain != head:
                head = _merge(state, head, chain)
        elif found == other:
            chain = U(state.chain[near])
            if chain != U(0) and liberty_count(state, chain) == 0:
                captured += remove_chain(state, chain, other)
                where = near
    state.ko = 0
    liberties = liberty_count(state, head)
    if liberties == 0:
        remove_chain(state, head, colour)  # suicide
    elif captured == 1 and liberties == 1 and state.chain_size[head] == 1:
        state.ko = where
    return captured


@inlined
def recent_move(state: State, age: int) -> U:
    """The move made so many moves before the last one, below NUM_RECENT; 0: there was none."""
    return U(state.recent[(U(state.num_moves) - U(1) - U(age)) & _RING])


@compiled
def play(state: State, point: U, colour: U) -> int:
    """Make a legal move of either colour (0: pass); the number of stones captured."""
    state.before_last = state.last
    state.last = point
    state.recent[U(state.num_moves) & _RING] = point | (colour << _COLOUR_SHIFT)
    state.num_moves += 1
    state.to_move = opposite(colour)
    if point == U(0):
        state.ko = 0
        state.passes += 1
        return 0
    state.passes = 0
    return place(state, point, colour)


@inlined
def is_own_eye(state: State, point: U, colour: U) -> bool:
    """Whether playing here would fill an eye."""
    return (U(EYES[state.code[point]]) & colour) != U(0)


@inlined
def has_liberty_or_captures(state: State, point: U, colour: U) -> bool:
    """Whether a stone on an empty point has a liberty at once, after captures."""
    code = U(state.code[point])
    if DIRECT[code & _LOW_BYTE] & HAS_EMPTY:
        return True
    _add_liberty(state, point, -LIBERTY[point])
    survives = False
    for k in range(4):
        found = colour_in(code, k)
        if found != _THREE:
            has_others = liberty_count(state, U(state.chain[neighbour(point, k)])) != 0
            # our chain lives by another liberty; the opponent's is captured without one
            survives |= (found == colour) == has_others
    _add_liberty(state, point, LIBERTY[point])
    return survives


@compiled
def is_legal(state: State, point: U, colour: U) -> bool:
    """By the rules without superko: an empty point, no ko, no suicide unless it is allowed."""
    if point == U(0):
        return True
    if state.colour[point] != 0:
        return False
    if point == U(state.ko) and colour == U(state.to_move):
        return False
    return state.suicide_allowed != 0 or has_liberty_or_captures(state, point, colour)


@compiled
def hash_after(state: State, point: U, colour: U) -> U:
    """The hash of the stones after a legal move."""
    if point == U(0):
        return U(state.hash)
    after = state.hash ^ ZOBRIST[colour, point]
    other = opposite(colour)
    code = U(state.code[point])
    if DIRECT[code & _LOW_BYTE] & HAS_EMPTY == 0 and not has_liberty_or_captures(
        state, point, colour
    ):
        return _hash_after_suicide(state, point, colour)
    _add_liberty(state, point, -LIBERTY[point])
    for k in range(4):
        chain = U(state.chain[neighbour(point, k)])
        if colour_in(code, k) == other and liberty_count(state, chain) == 0:
            counted = False
            for earlier in range(k):
                counted |= U(state.chain[neighbour(point, earlier)]) == chain
            if not counted:
                after ^= _chain_hash(state, chain, other)
    _add_liberty(state, point, LIBERTY[point])
    return after


@compiled
def _hash_after_suicide(state: State, point: U, colour: U) -> U:
    after = state.hash
    code = U(state.code[point])
    for k in range(4):
        chain = U(state.chain[neighbour(point, k)])
        if colour_in(code, k) == colour:
            counted = False
            for earlier in range(k):
                counted |= U(state.chain[neighbour(point, earlier)]) == chain
            if not counted:
                after ^= _chain_hash(state, chain, colour)
    return after


@compiled
def _chain_hash(state: State, head: U, colour: U) -> U:
    total = U(0)
    point = head
    while True:
        total ^= ZOBRIST[colour, point]
        point = U(state.next[point])
        if point == head:
            return total


@compiled
def keep_legal(state: State, points: np.ndarray, colour: U, history: np.ndarray) -> int:
    """Move the points where a colour may play to the front, in order; how many they are.

    Illegal are moves that lead to a position of the history, too: positional superko.
    """
    count = 0
    for point in points:
        if not is_legal(state, point, colour):
            continue
        after = hash_after(state, point, colour)
        repeats = False
        for earlier in history:
            repeats |= earlier == after
        if not repeats:
            points[count] = point
            count += 1
    return count
