"""Playing by the rollout policy: weights of all points are kept up to date as stones come and go.

A move changes the weights of its neighbours, of stones taken off and theirs, and of points beside
chains in atari ("hot"). Responses to the last moves are multiplied in before a move is drawn, and
taken out after. Weights are whole numbers, so that nothing drifts.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rollout.feature import diamond_point, list_responses, size_class
from landmark.go.rollout.layout import CAPTURE, EXTENSION, SELF_ATARI
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import (
    colour_in,
    in_atari,
    last_liberty,
    neighbour,
    opposite,
    play,
)
from landmark.go.rules.shape import DIRECT
from landmark.go.rules.state import State
from landmark.go.search.tactics import is_playable, is_self_atari
from landmark.go.search.workspace import Workspace, draw

U = np.uint64
_PASS = U(0)
_ONE, _MOST = np.float32(1 << 12), np.float32(1 << 22)
"""The whole number for a weight of 1, and the largest."""
_CERTAIN = 1 << 16
_STONES = 3


@inlined
def _whole(weight: float) -> U:
    """A weight as a number that is zero only where the weight is."""
    if weight == 0:
        return U(0)
    return U(max(np.float32(1), min(_MOST, weight * _ONE)))


@compiled
def _set_weights(state: State, work: Workspace, point: U) -> bool:
    """Weigh a point for both colours; whether a chain in atari is beside it."""
    weights = work.policy_weights
    if state.colour[point] != 0:
        weights[1, point] = 0
        weights[2, point] = 0
        return False
    code = U(state.code[point])
    location = work.policy_location[point]
    black = work.policy_pattern[1, code] * location
    white = work.policy_pattern[2, code] * location
    is_hot = False
    if DIRECT[code & U(255)] & _STONES:
        for k in range(4):
            found = colour_in(code, k)
            if found == U(1) or found == U(2):
                chain = U(state.chain[neighbour(point, k)])
                if in_atari(state, chain):
                    is_hot = True
                    size = size_class(int(state.chain_size[chain]))
                    capture = work.policy_factors[CAPTURE + size]
                    extension = work.policy_factors[EXTENSION + size]
                    black *= extension if found == U(1) else capture
                    white *= extension if found == U(2) else capture
    weights[1, point] = _whole(black)
    weights[2, point] = _whole(white)
    return is_hot


@inlined
def _refresh(state: State, work: Workspace, point: U) -> None:
    if state.colour[point] == 3:
        return
    if _set_weights(state, work, point) and not work.is_hot[point]:
        work.is_hot[point] = 1
        work.hot_points[work.num_hot] = point
        work.num_hot += 1


@compiled
def begin_policy(state: State, work: Workspace) -> None:
    """Weigh all points."""
    work.policy_weights[:] = 0
    work.is_hot[:] = 0
    work.num_hot = 0
    for index in range(U(state.num_empties)):
        _refresh(state, work, U(state.empties[index]))


@inlined
def _refresh_liberty(state: State, work: Workspace, stone: U) -> None:
    """Weigh the last liberty of a chain in atari anew."""
    chain = U(state.chain[stone])
    if chain != U(0) and in_atari(state, chain):
        _refresh(state, work, last_liberty(state, chain))


@compiled
def follow_move(state: State, work: Workspace, point: U, captured: int) -> None:
    """Weigh anew what a move has changed; it was just played."""
    if point == _PASS:
        return
    _refresh(state, work, point)
    for k in range(8):
        _refresh(state, work, diamond_point(point, k))
    for index in range(U(state.num_empties) - U(captured), U(state.num_empties)):
        taken = U(state.empties[index])  # what was captured stands last
        _refresh(state, work, taken)
        for k in range(8):
            _refresh(state, work, diamond_point(taken, k))
    _refresh_liberty(state, work, point)
    for k in range(4):
        _refresh_liberty(state, work, neighbour(point, k))
    number = 0
    while number < work.num_hot:
        hot = U(work.hot_points[number])
        if _set_weights(state, work, hot):
            number += 1
        else:
            work.is_hot[hot] = 0
            work.num_hot -= 1
            work.hot_points[number] = work.hot_points[work.num_hot]


@inlined
def _replace(work: Workspace, colour: U, point: U, weight: U) -> None:
    """Change a weight until `_restore`."""
    work.saved_points[work.num_saved] = point
    work.saved_weights[work.num_saved] = work.policy_weights[colour, point]
    work.num_saved += 1
    work.policy_weights[colour, point] = weight


@inlined
def _restore(work: Workspace, colour: U) -> None:
    while work.num_saved != 0:
        work.num_saved -= 1
        point = work.saved_points[work.num_saved]
        work.policy_weights[colour, point] = work.saved_weights[work.num_saved]


@compiled
def draw_point(work: Workspace, size: int, colour: U) -> U:
    """A point with probability proportional to its weight; 0: all are zero."""
    weights = work.policy_weights[colour]
    total = U(0)
    for point in range(U(STRIDE), U(STRIDE) * (U(size) + U(1))):
        total += U(weights[point])
    if total == U(0):
        return _PASS
    left = draw(work, total)
    start = U(STRIDE)
    while True:
        row = U(0)
        for point in range(start, start + U(STRIDE)):
            row += U(weights[point])
        if left < row:
            break
        left -= row
        start += U(STRIDE)
    while left >= U(weights[start]):
        left -= U(weights[start])
        start += U(1)
    return start


@compiled
def choose_by_policy(state: State, work: Workspace, colour: U) -> U:
    """Draw a move from the policy; 0: a pass, if there is nothing else.

    Self-atari is drawn like any move and kept with the probability that its weight says.
    """
    list_responses(state, work, colour)
    work.num_saved = 0
    for number in range(work.num_responses):
        point = U(work.response_points[number])
        weight = work.policy_weights[colour, point]
        if weight != 0:
            factor = work.policy_factors[work.response_features[number]]
            _replace(work, colour, point, _whole(np.float32(weight) / _ONE * factor))
    kept = U(work.policy_factors[SELF_ATARI] * _CERTAIN)
    chosen = _PASS
    while True:
        chosen = draw_point(work, int(state.size), colour)
        if chosen == _PASS:
            break
        if is_playable(state, chosen, colour) and not (
            is_self_atari(state, chosen, colour) and draw(work, U(_CERTAIN)) >= kept
        ):
            break
        _replace(work, colour, chosen, U(0))
    _restore(work, colour)
    return chosen


@compiled
def play_out_by_policy(state: State, work: Workspace) -> int:
    """Play until both pass, as playout.play_out does; the number of moves."""
    limit = 3 * int(state.size) * int(state.size)
    colour = U(state.to_move)
    passes = 0
    num_moves = 0
    first = work.first
    begin_policy(state, work)
    while passes < 2 and num_moves < limit:
        point = choose_by_policy(state, work, colour)
        captured = play(state, point, colour)
        if point == _PASS:
            passes += 1
        else:
            passes = 0
            follow_move(state, work, point, captured)
            if first[point] == 0:
                first[point] = colour
        colour = opposite(colour)
        num_moves += 1
    return num_moves
