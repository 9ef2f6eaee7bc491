"""Positions turned by the symmetries of the board, and a network's outputs turned back."""

from functools import cache

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.geometry import NUM_POINTS, points_of
from landmark.go.rules.symmetry import NUM_SYMMETRIES, symmetric_points

U = np.uint64


@cache
def symmetry_table(size: int) -> np.ndarray:
    """Where each symmetry takes each point, both counted row by row: (8, A)."""
    points = points_of(size)
    index_of = np.zeros(NUM_POINTS, np.int64)
    index_of[points] = range(len(points))
    return index_of[symmetric_points(size)[:, points]]


def random_symmetries(states: np.ndarray, seed: int) -> np.ndarray:
    """A symmetry for each position, drawn by the seed and the position itself.

    So a position is judged alike whatever other positions stand in its batch.
    """
    mixed = states["hash"] + states["to_move"] * U(0x9E3779B97F4A7C15) + U(seed % (1 << 64))
    mixed = (mixed ^ (mixed >> U(30))) * U(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> U(27))) * U(0x94D049BB133111EB)
    return ((mixed >> U(32)) % U(NUM_SYMMETRIES)).astype(np.int64)


@compiled
def turn(planes: np.ndarray, table: np.ndarray, symmetries: np.ndarray) -> np.ndarray:
    """(B, C, A) planes, each position's turned by its symmetry."""
    turned = np.empty_like(planes)
    for k in range(len(planes)):
        to = table[symmetries[k]]
        for channel in range(planes.shape[1]):
            for index in range(planes.shape[2]):
                turned[k, channel, to[index]] = planes[k, channel, index]
    return turned


@compiled
def priors_of(
    logits: np.ndarray,
    colours: np.ndarray,
    points: np.ndarray,
    table: np.ndarray,
    symmetries: np.ndarray,
) -> np.ndarray:
    """(B, A + 1) logits of turned positions to (B, NUM_POINTS) probabilities of empty points and
    the pass."""
    priors = np.zeros((len(logits), NUM_POINTS), np.float32)
    for k in range(len(logits)):
        to = table[symmetries[k]]
        most = logits[k, len(points)]
        for index in range(len(points)):
            if colours[k, points[index]] == 0:
                most = max(most, logits[k, to[index]])
        priors[k, 0] = np.exp(logits[k, len(points)] - most)
        total = priors[k, 0]
        for index in range(len(points)):
            if colours[k, points[index]] == 0:
                weight = np.float32(np.exp(logits[k, to[index]] - most))
                priors[k, points[index]] = weight
                total += weight
        priors[k] /= total
    return priors


@compiled
def by_point(
    turned: np.ndarray, points: np.ndarray, table: np.ndarray, symmetries: np.ndarray
) -> np.ndarray:
    """(B, A) values of turned positions to (B, NUM_POINTS)."""
    values = np.zeros((len(turned), NUM_POINTS), np.float32)
    for k in range(len(turned)):
        to = table[symmetries[k]]
        for index in range(len(points)):
            values[k, points[index]] = turned[k, to[index]]
    return values
