"""What is to be predicted of positions, seen by the colour to move like their planes."""

from typing import NamedTuple

import numpy as np

from landmark.go.network.symmetry import symmetry_table, turn
from landmark.go.positions.packed import OWNERSHIP_KNOWN, UNCOUNTED
from landmark.go.rules.geometry import BLACK, STRIDE


class Targets(NamedTuple):
    """Of B positions on a board of A points."""

    moves: np.ndarray
    """(B,) int64: the move that was played, counted row by row; A is a pass."""
    outcomes: np.ndarray
    """(B,) float32: 1 the colour to move won, -1 it lost, 0 a draw."""
    margins: np.ndarray
    """(B,) float32: the points by which it won, komi included; NaN: not counted."""
    estimates: np.ndarray
    """(B,) float32: the recorded estimate of that, before the move; NaN: none."""
    ownership: np.ndarray
    """(B, size, size) float32: 1 its point at the end of the game, -1 the opponent's, else 0."""
    ownership_known: np.ndarray
    """(B,) bool: otherwise ownership is 0."""

    def turned(self, symmetries: np.ndarray) -> "Targets":
        """Each position turned by its symmetry, as `turned_planes` turns planes."""
        size = self.ownership.shape[-1]
        table = np.pad(symmetry_table(size), ((0, 0), (0, 1)), constant_values=size * size)
        return self._replace(
            moves=table[symmetries, self.moves],
            ownership=turned_planes(self.ownership[:, None], symmetries)[:, 0],
        )


def turned_planes(planes: np.ndarray, symmetries: np.ndarray) -> np.ndarray:
    """(B, C, size, size) planes, each position's turned by its symmetry (0 to 7)."""
    batch, channels, size, _ = planes.shape
    flat = np.ascontiguousarray(planes).reshape(batch, channels, size * size)
    return np.asarray(turn(flat, symmetry_table(size), symmetries).reshape(planes.shape))


def targets_of(packed: np.ndarray, size: int) -> Targets:
    """The targets of packed positions."""
    is_black = packed["to_move"] == BLACK
    sign = np.where(is_black, 1, -1).astype(np.float32)
    point = packed["move"].astype(np.int64)
    index = (point // STRIDE - 1) * size + point % STRIDE - 1
    winner = packed["winner"]
    result = packed["result"].astype(np.float32)
    margins = np.where(packed["result"] == UNCOUNTED, np.float32(np.nan), result / 2)
    owned = _points(packed["black_owned"], size) - _points(packed["white_owned"], size)
    return Targets(
        moves=np.where(point == 0, size * size, index),
        outcomes=np.where(winner == 0, 0, np.where(winner == packed["to_move"], 1, -1)).astype(
            np.float32
        ),
        margins=margins * sign,
        estimates=packed["score"] * sign,
        ownership=owned * sign[:, None, None],
        ownership_known=(packed["flags"] & OWNERSHIP_KNOWN) > 0,
    )


def _points(bits: np.ndarray, size: int) -> np.ndarray:
    """(B, bytes) to (B, size, size) zeros and ones."""
    found = np.unpackbits(bits, axis=1, count=size * size, bitorder="little")
    return found.reshape(len(bits), size, size).astype(np.float32)
