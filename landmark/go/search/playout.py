"""Playing a game to its end: uniformly at random, or with knowledge of what is urgent.

Gelly, Wang, Munos and Teytaud 2006: first capture or escape beside the last move, then a 3x3
pattern beside the last two, otherwise any move that fills no own eye.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rollout.playing import play_out_by_policy
from landmark.go.rules.geometry import EAST, NORTH, SOUTH, WEST
from landmark.go.rules.moves import is_own_eye, opposite, play
from landmark.go.rules.shape import DIRECT
from landmark.go.rules.state import State
from landmark.go.search.life import find_vital_points
from landmark.go.search.parameters import CERTAIN, Parameters
from landmark.go.search.pattern import SHAPES
from landmark.go.search.tactics import (
    find_two_liberties,
    find_urgent_moves,
    is_playable,
    is_self_atari,
)
from landmark.go.search.workspace import Workspace, add_candidate, draw

U = np.uint64
_CERTAIN = U(CERTAIN)
_PASS = U(0)


@inlined
def _happens(work: Workspace, probability: int) -> bool:
    return probability != 0 and bool(draw(work, _CERTAIN) < U(probability))


@compiled
def random_move(state: State, work: Workspace, colour: U, refusal: int) -> U:
    """A uniformly random move that fills no own eye; a pass if there is none.

    Points that do not fit go behind those that are still to be tried. Self-atari is refused with
    a probability, once for the whole move.
    """
    empties, index_of = state.empties, state.empty_index
    refuses = _happens(work, refusal)
    left = U(state.num_empties)
    while left > U(0):
        index = draw(work, left)
        point = U(empties[index])
        if (
            not is_own_eye(state, point, colour)
            and is_playable(state, point, colour)
            and not (refuses and is_self_atari(state, point, colour))
        ):
            return point
        left -= U(1)
        other = U(empties[left])
        empties[left] = point
        empties[index] = other
        index_of[point] = left
        index_of[other] = index
    return _PASS


@inlined
def _add_if_shape(state: State, work: Workspace, point: U, colour: U) -> None:
    if (
        state.colour[point] == 0
        and SHAPES[state.code[point]] != 0
        and is_playable(state, point, colour)
        and not is_self_atari(state, point, colour)
    ):
        add_candidate(work, point)


@compiled
def find_patterns(state: State, work: Workspace, around: U, colour: U) -> None:
    """Candidates that match a 3x3 pattern among the eight neighbours of a move."""
    if around == _PASS:
        return
    _add_if_shape(state, work, around - NORTH - WEST, colour)
    _add_if_shape(state, work, around - NORTH, colour)
    _add_if_shape(state, work, around - NORTH + EAST, colour)
    _add_if_shape(state, work, around - WEST, colour)
    _add_if_shape(state, work, around + EAST, colour)
    _add_if_shape(state, work, around + SOUTH - WEST, colour)
    _add_if_shape(state, work, around + SOUTH, colour)
    _add_if_shape(state, work, around + SOUTH + EAST, colour)


@compiled
def choose_move(state: State, work: Workspace, colour: U, parameters: Parameters) -> U:
    """The playout policy: 0 is a pass."""
    if state.last != 0:
        work.num_candidates = 0
        if _happens(work, parameters.captures):
            find_urgent_moves(state, work, colour)
        if work.num_candidates == 0 and _happens(work, parameters.nakade):
            find_vital_points(state, work, colour)
        if work.num_candidates == 0 and _happens(work, parameters.two_liberties):
            find_two_liberties(state, work, colour)
        if work.num_candidates == 0 and _happens(work, parameters.patterns):
            find_patterns(state, work, U(state.last), colour)
            if work.num_candidates == 0:
                find_patterns(state, work, U(state.before_last), colour)
        if work.num_candidates != 0:
            return U(work.candidates[draw(work, U(work.num_candidates))])
    return random_move(state, work, colour, parameters.self_atari)


@compiled
def play_out(state: State, work: Workspace, parameters: Parameters) -> int:
    """Play until both pass; the number of moves. Remembers who played first on each point.

    Moves are the rollout policy's where one was put into the workspace.
    """
    if work.policy_is_on:
        return play_out_by_policy(state, work)
    limit = 3 * int(state.size) * int(state.size)
    colour = U(state.to_move)
    passes = 0
    num_moves = 0
    first = work.first
    while passes < 2 and num_moves < limit:
        point = choose_move(state, work, colour, parameters)
        play(state, point, colour)
        if point == _PASS:
            passes += 1
        else:
            passes = 0
            if first[point] == 0:
                first[point] = colour
        colour = opposite(colour)
        num_moves += 1
    return num_moves


@compiled
def count_finished(state: State, work: Workspace) -> int:
    """Black's points minus White's after a playout, where only eyes are empty; adds ownership."""
    size = U(state.size)
    balance = 0
    for row in range(U(1), size + U(1)):
        for point in range(row * SOUTH + U(1), row * SOUTH + size + U(1)):
            owner = int(state.colour[point])
            if owner == 0:
                owner = int(DIRECT[U(state.code[point]) & U(255)]) & 3
            sign = (owner & 1) - (owner >> 1)  # 0 where both are near
            balance += sign
            work.ownership[point] += sign
    work.score_sum += balance
    work.num_playouts += 1
    return balance


@compiled
def run_playouts(
    start: np.ndarray, scratch: np.ndarray, workspace: np.ndarray, settings: np.ndarray, count: int
) -> int:
    """Play out the same position again and again; the number of moves."""
    work, parameters = workspace[0], settings[0]
    total = 0
    for _ in range(count):
        scratch[0] = start[0]
        work.first[:] = 0
        total += play_out(scratch[0], work, parameters)
        count_finished(scratch[0], work)
    return total
