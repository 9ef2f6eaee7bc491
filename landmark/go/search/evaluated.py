"""Simulations that ask an evaluator: leaves are gathered in batches, judged, and backed up.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search": a leaf is
worth a mixture of the evaluator's value and a playout's result. While a leaf waits, the moves to it
count as lost (virtual loss), so that the next simulation of the batch goes elsewhere.
"""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import NUM_POINTS
from landmark.go.rules.state import State
from landmark.go.search.evaluator import Evaluation, Evaluator, judge_root
from landmark.go.search.parameters import Parameters
from landmark.go.search.playout import count_finished, play_out
from landmark.go.search.simulation import (
    ROOM,
    add_children,
    back_up,
    descend,
    final_value,
    value_of,
)
from landmark.go.search.tree import PENDING, UNEXPANDED, Node, Tree
from landmark.go.search.workspace import MAX_DEPTH, Workspace

U = np.uint64
_NO_SCORES = np.zeros(0, np.float32)


class Leaves:
    """Room for a batch of leaves: their states, and the paths to them."""

    def __init__(self, start: np.ndarray, size: int) -> None:
        self.size = size
        self.states = np.repeat(start, size)
        self.paths = np.zeros((size, MAX_DEPTH + 1), np.int32)
        """The depth, then nodes from the root on."""


@compiled
def gather_leaves(
    nodes: np.ndarray,
    used: np.ndarray,
    start: np.ndarray,
    states: np.ndarray,
    paths: np.ndarray,
    count: int,
    workspace: np.ndarray,
    history: np.ndarray,
    settings: np.ndarray,
) -> tuple[int, int]:
    """Run simulations until their leaves wait, or one comes to a leaf that does.

    How many wait for `finish_leaves`, and how many have ended: where the game is over, and at
    leaves that were judged before and are not to be expanded.
    """
    work, parameters = workspace[0], settings[0]
    waiting = 0
    ended = 0
    while waiting < len(states) and waiting + ended < count:
        states[waiting] = start[0]
        state = states[waiting]
        work.first[:] = 0
        depth = descend(nodes, state, work, history, parameters)
        leaf = nodes[work.path[depth]]
        colour = U(state.to_move)
        if state.passes >= 2:
            back_up(nodes, work, depth, colour, final_value(state, parameters), parameters)
            ended += 1
        elif leaf.first_child == PENDING:
            break
        elif leaf.visits > 0 and not _is_due(nodes, used, leaf, depth, waiting, parameters):
            judged = 1 - leaf.prior_sum if colour == U(1) else leaf.prior_sum
            _finish(nodes, state, work, depth, judged, parameters)
            ended += 1
        else:
            leaf.first_child = PENDING
            paths[waiting, 0] = depth
            for level in range(depth + 1):
                paths[waiting, level + 1] = work.path[level]
                nodes[work.path[level]].rave_visits += parameters.virtual_loss
            waiting += 1
    return waiting, ended


@inlined
def _is_due(
    nodes: np.ndarray,
    used: np.ndarray,
    leaf: Node,
    depth: int,
    waiting: int,
    parameters: Parameters,
) -> bool:
    """Whether a leaf is to be expanded, and there is room, with others that wait for it."""
    is_due = leaf.visits + 1 >= parameters.expand_after or depth == 0
    return is_due and used[0] + (waiting + 1) * ROOM < len(nodes)


@inlined
def _finish(
    nodes: np.ndarray,
    state: State,
    work: Workspace,
    depth: int,
    value: float,
    parameters: Parameters,
) -> None:
    """Mix Black's value of a leaf with a playout's result, and back it up."""
    colour = U(state.to_move)
    if parameters.playout_share > 0:
        work.first[:] = 0
        play_out(state, work, parameters)
        result = value_of(count_finished(state, work), parameters)
        value += parameters.playout_share * (result - value)
    back_up(nodes, work, depth, colour, value, parameters)


@compiled
def finish_leaves(
    nodes: np.ndarray,
    used: np.ndarray,
    states: np.ndarray,
    paths: np.ndarray,
    waiting: int,
    workspace: np.ndarray,
    settings: np.ndarray,
    priors: np.ndarray,
    values: np.ndarray,
) -> None:
    """Expand judged leaves, mix their values with playouts', and back them up."""
    work, parameters = workspace[0], settings[0]
    for k in range(waiting):
        state = states[k]
        depth = paths[k, 0]
        for level in range(depth + 1):
            work.path[level] = paths[k, level + 1]
            nodes[work.path[level]].rave_visits -= parameters.virtual_loss
        index = work.path[depth]
        nodes[index].first_child = UNEXPANDED
        nodes[index].prior_sum = 1 - values[k]
        if _is_due(nodes, used, nodes[index], depth, 0, parameters):
            add_children(nodes, used, index, state)
            spread(nodes, index, priors[k], parameters.prior_exponent)
        value = values[k] if state.to_move == 1 else 1 - values[k]
        _finish(nodes, state, work, depth, value, parameters)


@compiled
def spread(nodes: np.ndarray, leaf: int, priors: np.ndarray, exponent: float) -> None:
    """Give the children their probabilities, to a power, so that they add up to 1."""
    parent = nodes[leaf]
    total = np.float32(0)
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        child.prior_visits = priors[child.move]
        if exponent != 1:
            child.prior_visits = np.float32(priors[child.move] ** exponent)
        total += child.prior_visits
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        if total > 0:
            child.prior_visits /= total
        else:
            child.prior_visits = np.float32(1) / parent.num_children


@compiled
def remember(
    states: np.ndarray,
    waiting: int,
    workspace: np.ndarray,
    ownership: np.ndarray,
    scores: np.ndarray,
    komi: float,
) -> None:
    """Add up what an evaluator says of leaves' points, from Black's view.

    Without scores, the points themselves are counted.
    """
    work = workspace[0]
    for k in range(waiting):
        sign = 3.0 - 2.0 * states[k].to_move
        total = 0.0
        for point in range(NUM_POINTS):
            owned = sign * ownership[k, point]
            work.judged_ownership[point] += owned
            total += owned
        work.judged_score += sign * scores[k] if len(scores) else total - komi
        work.num_judged += 1


def open_root(
    tree: Tree, start: np.ndarray, evaluator: Evaluator, parameters: np.ndarray
) -> Evaluation:
    """Judge the root with care and give its moves their probabilities."""
    judged = judge_root(evaluator, start)
    nodes = tree.nodes
    if nodes[0]["first_child"] == UNEXPANDED:
        add_children(nodes, tree.used, 0, start[0])
        nodes[0]["visits"] = 1
        nodes[0]["value_sum"] = 1 - judged.values[0]
    priors = np.asarray(judged.priors[0], np.float32)
    spread(nodes, 0, priors, parameters[0]["prior_exponent"])
    return judged


def simulate_evaluated(
    tree: Tree,
    start: np.ndarray,
    workspace: np.ndarray,
    history: np.ndarray,
    parameters: np.ndarray,
    evaluator: Evaluator,
    leaves: Leaves,
    count: int,
) -> None:
    """Run simulations below a root that was opened, a batch of leaves at a time."""
    nodes, used, states, paths = tree.nodes, tree.used, leaves.states, leaves.paths
    komi = float(parameters[0]["komi"])
    done = 0
    while done < count:
        waiting, ended = gather_leaves(
            nodes, used, start, states, paths, count - done, workspace, history, parameters
        )
        done += waiting + ended
        if not waiting:
            continue
        judged = evaluator.evaluate(states[:waiting])
        if judged.ownership is not None:
            ownership = np.asarray(judged.ownership, np.float32)
            scores = _NO_SCORES
            if judged.scores is not None:
                scores = np.asarray(judged.scores, np.float32)
            remember(states, waiting, workspace, ownership, scores, komi)
        priors = np.asarray(judged.priors, np.float32)
        values = np.asarray(judged.values, np.float64)
        finish_leaves(nodes, used, states, paths, waiting, workspace, parameters, priors, values)
