"""Feature sets by name: each turns positions into planes, seen by the colour to move."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from landmark.core.errors import UserError
from landmark.go.features import alphago, board

Fill = Callable[[np.ndarray, int, np.ndarray, np.ndarray], None]


@dataclass(frozen=True)
class FeatureSet:
    """What a network is told of a position."""

    name: str
    channels: int
    fill: Fill
    """(states, size, komi (B,), planes (B, channels, points)); compiled, without Python's lock."""

    def planes(
        self,
        states: np.ndarray,
        size: int,
        komi: float | np.ndarray = 7.0,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The planes of an array of STATE records: (B, channels, size, size), float32.

        komi: of all of them, or one each. `out` is filled and given back; it must be of that
        shape, contiguous.
        """
        shape = (len(states), self.channels, size, size)
        if out is None:
            out = np.empty(shape, np.float32)
        elif out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
            raise ValueError(f"out is {out.dtype} {out.shape}, not contiguous float32 {shape}")
        points = np.full(len(states), komi, np.float32)
        self.fill(states, size, points, out.reshape(len(states), self.channels, size * size))
        return out


_SETS = {
    each.name: each
    for each in (
        FeatureSet("board", board.NUM_CHANNELS, board.fill_board),
        FeatureSet("alphago", alphago.NUM_CHANNELS, alphago.fill_alphago),
        FeatureSet("alphago-value", alphago.NUM_VALUE_CHANNELS, alphago.fill_alphago),
    )
}


def feature_set(name: str) -> FeatureSet:
    """The feature set of a name."""
    if name not in _SETS:
        raise UserError(f"feature set {name!r}: choose one of {', '.join(_SETS)}")
    return _SETS[name]
