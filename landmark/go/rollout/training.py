"""Fitting the rollout policy to moves of games by stochastic gradient descent.

Steps are AdaGrad's (Duchi et al. 2011): patterns that are rare take larger ones.
"""

from collections.abc import Callable

import numpy as np

from landmark.core.errors import UserError
from landmark.go.compilation import compiled, inlined
from landmark.go.positions.packed import states_of
from landmark.go.positions.store import Positions
from landmark.go.rollout.layout import NUM_WEIGHTS
from landmark.go.rollout.policy import RolloutPolicy
from landmark.go.rollout.scoring import NO_MOVE, new_candidates, score_moves
from landmark.go.rules.geometry import PASS
from landmark.go.search.workspace import new_workspace

U = np.uint64
_CHUNK = 4096
_FIRST_SQUARE = 0.1
_IS_GRADIENT = -2.0
"""Gradients lie above; what is below is no move."""


@inlined
def _step(
    weights: np.ndarray, squares: np.ndarray, feature: int, gradient: float, rate: float
) -> None:
    squares[feature] += gradient * gradient
    weights[feature] -= rate * gradient / np.sqrt(squares[feature])


@compiled
def _learn(
    states: np.ndarray,
    moves: np.ndarray,
    workspace: np.ndarray,
    weights: np.ndarray,
    squares: np.ndarray,
    rate: float,
    decay: float,
) -> float:
    """One pass; the sum of the negative log-likelihoods of the moves before each step."""
    work = workspace[0]
    points, features, counts, scores = new_candidates()
    total = 0.0
    for position in range(len(states)):
        found = score_moves(states[position], work, weights, points, features, counts, scores)
        target = moves[position]
        if found < 2 or scores[target] <= NO_MOVE:
            continue
        most = scores.max()
        norm = 0.0
        for number in range(found):
            norm += np.exp(scores[points[number]] - most)
        total += most + np.log(norm) - scores[target]
        for number in range(found):
            point = points[number]
            gradient = np.exp(scores[point] - most) / norm - (point == target)
            scores[point] = gradient  # for the responses
            for k in range(counts[number]):
                feature = features[number, k]
                _step(weights, squares, feature, gradient + decay * weights[feature], rate)
        for number in range(work.num_responses):
            gradient = scores[work.response_points[number]]
            if gradient > _IS_GRADIENT:
                feature = work.response_features[number]
                _step(weights, squares, feature, gradient + decay * weights[feature], rate)
    return total


def train_rollout_policy(
    positions: Positions,
    epochs: int = 8,
    learning_rate: float = 0.2,
    weight_decay: float = 1e-4,
    seed: int = 1,
    report: Callable[[int, float], None] = lambda *_: None,
) -> RolloutPolicy:
    """Learn from the training games' targets, passes excepted; the same for the same seed.

    `report` gets the epochs done and the mean negative log-likelihood of the last one.
    """
    indices = positions.indices("train")
    indices = indices[positions.records["move"][indices] != PASS]
    if not len(indices):
        raise UserError("no moves to learn from: all positions are held out, or moves are random")
    rng, workspace = np.random.default_rng(seed), new_workspace(seed)
    weights = np.zeros(NUM_WEIGHTS, np.float32)
    squares = np.full(NUM_WEIGHTS, _FIRST_SQUARE, np.float32)
    for epoch in range(epochs):
        order, total = rng.permutation(indices), 0.0
        for start in range(0, len(order), _CHUNK):
            packed = positions.records[order[start : start + _CHUNK]]
            total += _learn(
                states_of(packed, positions.size), np.array(packed["move"]), workspace, weights,
                squares, learning_rate, weight_decay,
            )  # fmt: skip
        report(epoch + 1, total / len(order))
    return RolloutPolicy(weights, positions.size)
