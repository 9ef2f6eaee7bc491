"""Patterns that are equal but for a symmetry or the colours, brought to one form.

A pattern is a 3x3 code (state.py); a diamond has the four points at distance two as well.
"""

import numpy as np

from landmark.go.rules.shape import NUM_CODES
from landmark.go.rules.symmetry import NUM_SYMMETRIES

_AROUND = ((-1, 0), (0, -1), (0, 1), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""(row, column) of the neighbours, in the order of a code."""
_OUTER = ((-2, 0), (0, -2), (0, 2), (2, 0))


def _images(row: int, column: int) -> tuple[tuple[int, int], ...]:
    """Where the symmetries take a place relative to the middle."""
    return (
        (row, column), (column, -row), (-row, -column), (-column, row),
        (row, -column), (-row, column), (column, row), (-column, -row),
    )  # fmt: skip


def _turns(places: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Which place each symmetry takes each place to: (8, places)."""
    return np.array(
        [[places.index(_images(*place)[k]) for place in places] for k in range(NUM_SYMMETRIES)]
    )


def _turned(codes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Codes of two bits a place, turned by each symmetry: (8, codes)."""
    found = np.zeros((NUM_SYMMETRIES, len(codes)), codes.dtype)
    for symmetry, to in enumerate(turns):
        for place, image in enumerate(to):
            found[symmetry] |= ((codes >> 2 * place) & 3) << 2 * int(image)
    return found


def exchanged(codes: np.ndarray) -> np.ndarray:
    """Codes with black and white exchanged."""
    low, high = codes & 0x5555, (codes >> 1) & 0x5555
    return high | (low << 1)


_CODES = np.arange(NUM_CODES, dtype=np.int64)
_ALL = _turned(_CODES, _turns(_AROUND))

CANONICAL = _ALL.min(0).astype(np.uint16)
"""For every code the least of its eight forms."""
SYMMETRIES = ((_ALL.min(0) == _ALL) << np.arange(8)[:, None]).sum(0).astype(np.uint8)
"""Bits of the symmetries that take a code to that form."""
OUTER_TURNED = _turned(np.arange(256), _turns(_OUTER)).astype(np.uint8)
"""The code of the four outer points, turned: (8, 256)."""


def _slots() -> np.ndarray:
    """By bits of symmetries, the first place that one of them takes each point to: (256, 12)."""
    turns = np.concatenate([_turns(_AROUND), _turns(_OUTER) + 8], axis=1)
    found = np.full((256, turns.shape[1]), turns.shape[1])
    for symmetry, to in enumerate(turns):
        has_it = (np.arange(256) >> symmetry & 1).astype(bool)
        found[has_it] = np.minimum(found[has_it], to)
    return found.astype(np.uint8)


SLOTS = _slots()
"""The place of each of the 12 points of a diamond in its canonical form, by the bits of the
symmetries that lead there: where there are several, points that are alike share a place."""
NORMALISED = np.stack([_CODES, _CODES, exchanged(_CODES)]).astype(np.uint16)
"""By colour: a code as that colour sees it, its own stones being 1."""
del _ALL
