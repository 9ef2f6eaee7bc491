"""The eight symmetries of the square: rotations and reflections."""

from functools import cache

import numpy as np

from landmark.go.rules.geometry import NUM_POINTS, point_at

NUM_SYMMETRIES = 8


@cache
def symmetric_points(size: int) -> np.ndarray:
    """Where each symmetry takes each point: (8, points); border points and 0 stay."""
    table = np.tile(np.arange(NUM_POINTS), (NUM_SYMMETRIES, 1))
    far = size - 1
    for row in range(size):
        for column in range(size):
            images = (
                (row, column), (column, far - row), (far - row, far - column), (far - column, row),
                (row, far - column), (far - row, column), (column, row), (far - column, far - row),
            )  # fmt: skip
            table[:, point_at(row, column)] = [point_at(*image) for image in images]
    return table


def canonical(moves: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The same for sequences of moves that are equal but for a symmetry."""
    table = symmetric_points(size)
    return min(tuple(int(image[move]) for move in moves) for image in table)
