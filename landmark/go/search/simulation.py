"""Simulations: descend the tree by UCT with RAVE or by PUCT, play out, and back up the result.

Kocsis and Szepesvári 2006 (UCT); Gelly and Silver 2011, "Monte-Carlo tree search and rapid action
value estimation in computer Go" (RAVE and its weight); Rosin 2011 (PUCT).
"""

import math
from typing import Any

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import NUM_POINTS
from landmark.go.rules.moves import hash_after, is_own_eye, opposite, play
from landmark.go.rules.scoring import mark_area
from landmark.go.rules.state import State
from landmark.go.search.life import find_vital_points
from landmark.go.search.parameters import Parameters
from landmark.go.search.playout import count_finished, play_out
from landmark.go.search.prior import measure_distances, set_prior
from landmark.go.search.tactics import is_playable
from landmark.go.search.tree import FORBIDDEN, UNEXPANDED, Node
from landmark.go.search.workspace import MAX_DEPTH, Workspace

U = np.uint64
ROOM = 512
"""Nodes to be left free in the array: more than a position has moves."""


@inlined
def rave_value(child: Node, parameters: Parameters) -> Any:
    """(1 - beta) Q + beta Q_rave, with beta = m / (n + m + n m / k) for n visits and m of RAVE.

    Gelly and Silver's weight of least error; k = 1 / rave_bias. Priors count as visits.
    """
    visits = np.float32(child.visits) + child.prior_visits
    own = (child.value_sum + child.prior_sum) / visits
    seen = child.rave_visits
    if seen == 0 or parameters.rave_bias == 0:
        return own
    beta = seen / (visits + seen + visits * seen * parameters.rave_bias)
    return own + beta * (child.rave_sum / seen - own)


@compiled
def select_by_puct(nodes: np.ndarray, index: int, parameters: Parameters) -> int:
    """The child of largest Q + c P sqrt(N) / (1 + n); the first of equals.

    A simulation that waits counts as lost. Moves without any are worth the parent's mean, less
    `first_play_urgency` times the square root of the probability of the moves tried.
    """
    parent = nodes[index]
    tried = np.float32(0)
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        if nodes[child_index].visits > 0:
            tried += nodes[child_index].prior_visits
    mean = 1 - parent.value_sum / np.float32(parent.visits) if parent.visits > 0 else 0.5
    untried = np.float32(mean - parameters.first_play_urgency * math.sqrt(tried))
    weight = np.float32(parent.visits) + parent.rave_visits
    weight = parameters.exploration * np.float32(math.sqrt(weight))
    best, best_value = -1, np.float32(-1e30)
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        if child.first_child == FORBIDDEN:
            continue
        visits = np.float32(child.visits) + child.rave_visits
        value = child.value_sum / visits if visits > 0 else untried
        value += weight * child.prior_visits / (1 + visits)
        if value > best_value:
            best, best_value = child_index, value
    return best


@compiled
def select_by_rave(nodes: np.ndarray, index: int, parameters: Parameters) -> int:
    """The child of the best mixed value, with UCT's exploration if wanted; the first of equals."""
    parent = nodes[index]
    best, best_value = -1, np.float32(-1e30)
    logarithm = np.float32(math.log(np.float32(parent.visits) + 1))
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        if child.first_child == FORBIDDEN:
            continue
        value = rave_value(child, parameters)
        if parameters.exploration != 0:
            tries = np.float32(child.visits) + child.prior_visits
            value += parameters.exploration * np.float32(math.sqrt(logarithm / tries))
        if value > best_value:
            best, best_value = child_index, value
    return best


@compiled
def add_children(nodes: np.ndarray, used: np.ndarray, index: int, state: State) -> None:
    """Add all moves that fill no own eye, and pass, to the tree."""
    colour = U(state.to_move)
    first = used[0]
    count = 1
    nodes[first].move = 0
    for number in range(U(state.num_empties)):
        point = U(state.empties[number])
        if not is_own_eye(state, point, colour) and is_playable(state, point, colour):
            nodes[first + count].move = point
            count += 1
    for child_index in range(first, first + count):
        child = nodes[child_index]
        child.visits = 0
        child.value_sum = 0
        child.rave_visits = 0
        child.rave_sum = 0
        child.prior_visits = 0
        child.prior_sum = 0
        child.first_child = UNEXPANDED
        child.num_children = 0
    nodes[index].num_children = count
    nodes[index].first_child = first
    used[0] = first + count


@compiled
def expand(
    nodes: np.ndarray,
    used: np.ndarray,
    index: int,
    state: State,
    work: Workspace,
    scratch: np.ndarray,
    parameters: Parameters,
) -> None:
    """Add the moves of a leaf with their priors."""
    add_children(nodes, used, index, state)
    measure_distances(state, work, U(state.last))
    colour = U(state.to_move)
    parent = nodes[index]
    work.num_candidates = 0
    if parameters.prior_nakade != 0 and state.last != 0:
        find_vital_points(state, work, colour)
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        set_prior(state, work, scratch, child, U(child.move), colour, parameters)


@inlined
def repeats(history: np.ndarray, work: Workspace, depth: int, new_hash: U) -> bool:
    """Whether a position was on the board before, in the game or on this path."""
    for number in range(len(history)):
        if history[number] == new_hash:
            return True
    for number in range(depth):  # noqa: SIM110  numba compiles no generators
        if work.hashes[number] == new_hash:
            return True
    return False


@compiled
def descend(
    nodes: np.ndarray, state: State, work: Workspace, history: np.ndarray, parameters: Parameters
) -> int:
    """Play moves of the tree down to a leaf or the end of the game; the depth reached.

    Superko is checked once, when a child is visited for the first time.
    """
    depth = 0
    index = 0
    work.path[0] = 0
    while nodes[index].first_child >= 0 and state.passes < 2 and depth < MAX_DEPTH - 1:
        if parameters.puct:
            child_index = select_by_puct(nodes, index, parameters)
        else:
            child_index = select_by_rave(nodes, index, parameters)
        child = nodes[child_index]
        point, colour = U(child.move), U(state.to_move)
        is_new = child.visits == 0 and point != U(0)
        if is_new and repeats(history, work, depth, hash_after(state, point, colour)):
            child.first_child = FORBIDDEN
            continue
        play(state, point, colour)
        work.hashes[depth] = state.hash
        depth += 1
        work.path[depth] = child_index
        index = child_index
    return depth


@compiled
def final_value(state: State, parameters: Parameters) -> float:
    """Black's result where both have passed in the tree: Tromp-Taylor, nothing is dead."""
    dead = np.zeros(NUM_POINTS, np.uint8)
    owner = np.zeros(NUM_POINTS, np.uint8)
    return value_of(mark_area(state, dead, owner), parameters)


@inlined
def value_of(balance: int, parameters: Parameters) -> float:
    """1 if Black wins, 0 if White does, 0.5 for a draw."""
    margin = balance - parameters.komi
    if margin > 0:
        return 1.0
    return 0.0 if margin < 0 else 0.5


@compiled
def back_up(
    nodes: np.ndarray,
    work: Workspace,
    depth: int,
    colour: U,
    black_value: float,
    parameters: Parameters,
) -> None:
    """Add a result to the moves of a path, and to those that RAVE saw played later.

    `colour` is to move at the end of the path; work.first holds what the playout played first.
    """
    learns = parameters.rave_bias != 0 and parameters.puct == 0
    for level in range(depth, -1, -1):
        node = nodes[work.path[level]]
        if learns and node.first_child >= 0:
            _update_rave(nodes, node, work, colour, black_value)
        mover = opposite(colour)
        node.visits += 1
        node.value_sum += np.float32(black_value if mover == U(1) else 1 - black_value)
        work.first[node.move] = mover
        colour = mover


@inlined
def _update_rave(
    nodes: np.ndarray, node: Node, work: Workspace, colour: U, black_value: float
) -> None:
    value = np.float32(black_value if colour == U(1) else 1 - black_value)
    for child_index in range(node.first_child, node.first_child + node.num_children):
        child = nodes[child_index]
        if work.first[child.move] == colour and child.move != 0:
            child.rave_visits += 1
            child.rave_sum += value


@compiled
def simulate(
    nodes: np.ndarray,
    used: np.ndarray,
    start: np.ndarray,
    scratch: np.ndarray,
    workspace: np.ndarray,
    history: np.ndarray,
    settings: np.ndarray,
    count: int,
) -> None:
    """Run simulations from a position, on scratch states."""
    state, work, parameters = scratch[0], workspace[0], settings[0]
    for _ in range(count):
        scratch[0] = start[0]
        work.first[:] = 0
        depth = descend(nodes, state, work, history, parameters)
        leaf = work.path[depth]
        if state.passes < 2 and nodes[leaf].first_child == UNEXPANDED:
            is_due = nodes[leaf].visits + 1 >= parameters.expand_after or depth == 0
            if is_due and used[0] + ROOM < len(nodes):
                expand(nodes, used, leaf, state, work, scratch, parameters)
        colour = U(state.to_move)
        if state.passes >= 2:
            value = final_value(state, parameters)
        else:
            play_out(state, work, parameters)
            value = value_of(count_finished(state, work), parameters)
        back_up(nodes, work, depth, colour, value, parameters)
