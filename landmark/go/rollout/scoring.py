"""The rollout policy's scores of all moves of a position, with their features: for training."""

from typing import NamedTuple

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rollout.feature import (
    atari_feature,
    list_responses,
    location_of,
    pattern_of,
)
from landmark.go.rollout.layout import SELF_ATARI
from landmark.go.rules.geometry import AREA, NUM_POINTS
from landmark.go.rules.moves import is_own_eye
from landmark.go.rules.state import State
from landmark.go.search.tactics import is_playable, is_self_atari
from landmark.go.search.workspace import Workspace

U = np.uint64
_MOST_STATIC = 7
"""Features of a move that do not depend on the last moves."""
NO_MOVE = -1e30
"""The score of a point that is no move."""


class Accuracy(NamedTuple):
    """How well a policy predicts the moves of games."""

    top_1: float
    """Share of moves that are the policy's most likely one."""
    probability: float
    """Mean probability of the moves played."""
    positions: int


@compiled
def new_candidates() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Room for the moves of a position, their features and how many they are, and for scores."""
    return (
        np.empty(AREA, np.uint16),
        np.empty((AREA, _MOST_STATIC), np.int64),
        np.empty(AREA, np.int64),
        np.empty(NUM_POINTS, np.float32),
    )


@inlined
def _static_features(state: State, point: U, colour: U, features: np.ndarray) -> int:
    """A move's pattern, location, captures, extensions and self-atari; their number."""
    features[0] = pattern_of(state, point, colour)
    features[1] = location_of(state, point)
    count = 2
    code = U(state.code[point])
    for k in range(4):
        feature = atari_feature(state, code, point, k, colour)
        if feature >= 0:
            features[count] = feature
            count += 1
    if is_self_atari(state, point, colour):
        features[count] = SELF_ATARI
        count += 1
    return count


@compiled
def score_moves(
    state: State,
    work: Workspace,
    weights: np.ndarray,
    points: np.ndarray,
    features: np.ndarray,
    counts: np.ndarray,
    scores: np.ndarray,
) -> int:
    """The moves that the policy may play, their features, and by point their scores.

    Responses are in the workspace. Legal but for superko, and no own eye is filled.
    """
    colour = U(state.to_move)
    scores[:] = NO_MOVE
    found = 0
    for number in range(U(state.num_empties)):
        point = U(state.empties[number])
        if is_own_eye(state, point, colour) or not is_playable(state, point, colour):
            continue
        points[found] = point
        counts[found] = _static_features(state, point, colour, features[found])
        total = np.float32(0)
        for k in range(counts[found]):
            total += weights[features[found, k]]
        scores[point] = total
        found += 1
    list_responses(state, work, colour)
    for number in range(work.num_responses):
        scores[work.response_points[number]] += weights[work.response_features[number]]
    return found


@compiled
def judge(
    states: np.ndarray, moves: np.ndarray, workspace: np.ndarray, weights: np.ndarray
) -> tuple[int, float]:
    """How often the best move is the one played, and the sum of that one's probabilities."""
    work = workspace[0]
    points, features, counts, scores = new_candidates()
    hits = 0
    probability = 0.0
    for position in range(len(states)):
        found = score_moves(states[position], work, weights, points, features, counts, scores)
        target = moves[position]
        if found == 0 or scores[target] <= NO_MOVE:
            continue
        hits += scores.argmax() == target
        norm = 0.0
        for number in range(found):
            norm += np.exp(scores[points[number]] - scores[target])
        probability += 1 / norm
    return hits, probability
