"""What is known of a move before it was ever simulated, as simulations won or lost.

Gelly and Silver 2007, "Combining Online and Offline Knowledge in UCT". Distance to the last move
is that of the common fate graph (Graepel et al. 2001): stones of a chain are one place.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import (
    colour_in,
    in_atari,
    is_single,
    liberty_count,
    neighbour,
    opposite,
)
from landmark.go.rules.shape import DIRECT
from landmark.go.rules.state import State
from landmark.go.search.ladder import catches, is_caught
from landmark.go.search.parameters import Parameters
from landmark.go.search.pattern import SHAPES
from landmark.go.search.tactics import find_liberties, liberties_after
from landmark.go.search.tree import Node
from landmark.go.search.workspace import FAR, Workspace

U = np.uint64
_MOST_SHARED = 8
"""Two liberties have no more neighbours than these."""
_STONES = 3
"""DIRECT's bits of both colours."""


@compiled
def measure_distances(state: State, work: Workspace, start: U) -> None:
    """The distance of every point to a move, up to FAR; a chain is one place."""
    distance, queue = work.distance, work.queue
    distance[:] = FAR
    if start == U(0):
        return
    distance[start] = 0
    queue[0] = start
    length = 1
    done = 0
    while done < length:
        point = U(queue[done])
        done += 1
        here = distance[point]
        if state.colour[point] != 0:  # the rest of its chain is as near
            stone = U(state.next[point])
            while stone != point:
                if distance[stone] > here:
                    distance[stone] = here
                    queue[length] = stone
                    length += 1
                stone = U(state.next[stone])
        if here + 1 >= FAR:
            continue
        for k in range(4):
            near = neighbour(point, k)
            if state.colour[near] != 3 and distance[near] > here + 1:
                distance[near] = here + 1
                queue[length] = near
                length += 1


@inlined
def line_of(state: State, point: U) -> int:
    """1 at the edge, 2 beside it, and so on."""
    row, column = int(point) // STRIDE, int(point) % STRIDE
    far = int(state.size) + 1
    return min(row, far - row, column, far - column)


@compiled
def is_empty_around(state: State, point: U) -> bool:
    """Whether no stone is within three steps."""
    row, column = int(point) // STRIDE, int(point) % STRIDE
    size = int(state.size)
    for down in range(-3, 4):
        width = 3 - abs(down)
        if not 1 <= row + down <= size:
            continue
        for across in range(-width, width + 1):
            if 1 <= column + across <= size:
                colour = state.colour[U((row + down) * STRIDE + column + across)]
                if colour == 1 or colour == 2:
                    return False
    return True


@inlined
def _add(node: Node, weight: float, value: float) -> None:
    node.prior_visits += np.float32(weight)
    node.prior_sum += np.float32(weight * value)


@compiled
def begins_ladder(state: State, work: Workspace, scratch: np.ndarray, chain: U, point: U) -> bool:
    """Whether playing a liberty of the opponent's chain catches it in a ladder."""
    if liberty_count(state, chain) > _MOST_SHARED or find_liberties(state, work, chain) != 2:
        return False
    return catches(scratch, work, state, chain, point)


@compiled
def _judge_stones_beside(
    state: State,
    work: Workspace,
    scratch: np.ndarray,
    node: Node,
    point: U,
    colour: U,
    parameters: Parameters,
) -> None:
    """Captures, escapes, ladders and self-atari."""
    code = U(state.code[point])
    after = liberties_after(state, point, colour)
    is_bad = is_single(after)
    for k in range(4):
        found = colour_in(code, k)
        if found == U(0) or found == U(3):
            continue
        chain = U(state.chain[neighbour(point, k)])
        if not in_atari(state, chain):
            is_target = parameters.prior_ladder != 0 and found == opposite(colour)
            if is_target and begins_ladder(state, work, scratch, chain, point):
                _add(node, parameters.prior_ladder, 1.0)
            continue
        bonus = 2.0 * min(int(state.chain_size[chain]) - 1, 10)
        if found == opposite(colour):
            if parameters.prior_capture != 0:
                _add(node, parameters.prior_capture + bonus, 1.0)
        elif not is_bad:
            if parameters.prior_ladder != 0 and is_caught(scratch, work, state, chain):
                _add(node, parameters.prior_ladder, 0.0)
            elif parameters.prior_escape != 0:
                _add(node, parameters.prior_escape + bonus, 1.0)
    if is_bad:
        _add(node, parameters.prior_self_atari, 0.0)


@compiled
def set_prior(
    state: State,
    work: Workspace,
    scratch: np.ndarray,
    node: Node,
    point: U,
    colour: U,
    parameters: Parameters,
) -> None:
    """Judge a move. For the position, measure_distances was called, and vital points were found."""
    node.prior_visits = parameters.prior_even
    node.prior_sum = 0.5 * parameters.prior_even
    if point == U(0):
        _add(node, parameters.prior_even, 0.0)
        return
    code = U(state.code[point])
    if DIRECT[code & U(255)] & _STONES:
        _judge_stones_beside(state, work, scratch, node, point, colour, parameters)
    for number in range(work.num_candidates):
        if U(work.candidates[number]) == point:
            _add(node, parameters.prior_nakade, 1.0)
    if SHAPES[code] != 0:
        _add(node, parameters.prior_pattern, 1.0)
    distance = work.distance[point]
    if distance < FAR:
        _add(node, parameters.prior_distance * np.float32(FAR - distance) / 3, 1.0)
    if parameters.prior_empty_area != 0 and is_empty_around(state, point):
        line = line_of(state, point)
        if line < 3:
            _add(node, parameters.prior_empty_area, 0.0)
        elif line == 3:
            _add(node, parameters.prior_empty_area, 1.0)
