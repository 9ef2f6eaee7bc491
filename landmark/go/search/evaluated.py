"""Simulations that ask an evaluator: leaves are gathered in batches, judged, and backed up.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search": a leaf is
worth a mixture of the evaluator's value and a playout's result. While a leaf waits, the moves to it
count as lost once (virtual loss), so that the next simulation of the batch goes elsewhere.
"""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.search.evaluator import Evaluator
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
from landmark.go.search.tree import PENDING, UNEXPANDED, Tree
from landmark.go.search.workspace import MAX_DEPTH, Workspace

U = np.uint64
WAITS, ENDED, MEETS = 0, 1, 2
"""What became of a descent: a leaf to be judged, a result backed up, a leaf that waits already."""


@compiled
def find_leaf(
    nodes: np.ndarray,
    used: np.ndarray,
    start: np.ndarray,
    leaves: np.ndarray,
    paths: np.ndarray,
    number: int,
    workspace: np.ndarray,
    history: np.ndarray,
    settings: np.ndarray,
) -> int:
    """Descend to a leaf, whose state and path are kept for `finish_leaf`."""
    work, parameters = workspace[0], settings[0]
    leaves[number] = start[0]
    state = leaves[number]
    work.first[:] = 0
    depth = descend(nodes, state, work, history, parameters)
    leaf = work.path[depth]
    if state.passes >= 2:
        value = final_value(state, parameters)
        back_up(nodes, work, depth, U(state.to_move), value, parameters)
        return ENDED
    if nodes[leaf].first_child == PENDING:
        return MEETS
    if nodes[leaf].first_child == UNEXPANDED and used[0] + ROOM < len(nodes):
        nodes[leaf].first_child = PENDING
    paths[number, 0] = depth
    for level in range(depth + 1):
        paths[number, level + 1] = work.path[level]
        nodes[work.path[level]].visits += 1  # virtual loss
    return WAITS


@compiled
def finish_leaf(
    nodes: np.ndarray,
    used: np.ndarray,
    state: np.ndarray,
    path: np.ndarray,
    workspace: np.ndarray,
    settings: np.ndarray,
    priors: np.ndarray,
    judged: float,
    playout_share: float,
) -> None:
    """Expand a judged leaf, mix its value with a playout's, and back it up."""
    work, parameters, leaf_state = workspace[0], settings[0], state[0]
    depth = path[0]
    for level in range(depth + 1):
        work.path[level] = path[level + 1]
        nodes[path[level + 1]].visits -= 1
    leaf = path[depth + 1]
    colour = U(leaf_state.to_move)
    if nodes[leaf].first_child == PENDING:
        add_children(nodes, used, leaf, leaf_state)
        _spread(nodes, leaf, priors)
    value = judged if colour == U(1) else 1 - judged
    if playout_share > 0:
        work.first[:] = 0
        play_out(leaf_state, work, parameters)
        result = value_of(count_finished(leaf_state, work), parameters)
        value += playout_share * (result - value)
    back_up(nodes, work, depth, colour, value, parameters)


@compiled
def _spread(nodes: np.ndarray, leaf: int, priors: np.ndarray) -> None:
    """Give the children their probabilities, so that they add up to 1."""
    parent = nodes[leaf]
    total = np.float32(0)
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        total += priors[nodes[child_index].move]
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = nodes[child_index]
        if total > 0:
            child.prior_visits = priors[child.move] / total
        else:
            child.prior_visits = np.float32(1) / parent.num_children


def simulate_evaluated(
    tree: Tree,
    start: np.ndarray,
    workspace: Workspace,
    history: np.ndarray,
    parameters: Parameters,
    evaluator: Evaluator,
    count: int,
    playout_share: float,
) -> None:
    """Run simulations from a position, in the evaluator's batches."""
    leaves = np.repeat(start, evaluator.batch_size)
    paths = np.zeros((evaluator.batch_size, MAX_DEPTH + 1), np.int32)
    nodes, used = tree.nodes, tree.used
    done = 0
    while done < count:
        waiting = 0
        while waiting < evaluator.batch_size and done + waiting < count:
            found = find_leaf(
                nodes, used, start, leaves, paths, waiting, workspace, history, parameters
            )
            if found == MEETS:
                break
            if found == ENDED:
                done += 1
            else:
                waiting += 1
        if not waiting:
            continue
        judged = evaluator.evaluate(leaves[:waiting])
        for k in range(waiting):
            finish_leaf(
                nodes, used, leaves[k : k + 1], paths[k], workspace, parameters,
                np.asarray(judged.priors[k], np.float32), float(judged.values[k]), playout_share,
            )  # fmt: skip
        done += waiting
