"""What the eight neighbours of a point tell: a table over all 65,536 codes of a 3x3 square."""

import numpy as np

from landmark.go.rules.geometry import BLACK, BORDER, EMPTY, WHITE

NUM_CODES = 1 << 16


def neighbour_colours() -> np.ndarray:
    """The colours of the eight neighbours in every code: (65536, 8), direct neighbours first."""
    codes = np.arange(NUM_CODES)
    return np.stack([(codes >> 2 * k) & 3 for k in range(8)], axis=1)


def eye_table() -> np.ndarray:
    """For every code the bits of the colours (1, 2) that have an eye there.

    All direct neighbours are of the colour; of the diagonal ones one may be the opponent's, but
    none at the edge. Playouts never fill such a point.
    """
    around = neighbour_colours()
    direct, diagonal = around[:, :4], around[:, 4:]
    at_edge = (diagonal == BORDER).any(1)
    eyes = np.zeros(NUM_CODES, np.uint8)
    for colour, other in ((BLACK, WHITE), (WHITE, BLACK)):
        surrounded = ((direct == colour) | (direct == BORDER)).all(1)
        lost_corners = (diagonal == other).sum(1) + at_edge
        eyes[surrounded & (lost_corners < 2)] |= colour
    return eyes


def direct_table() -> np.ndarray:
    """For the low byte of a code: bits of the colours among the direct neighbours, 4 if empty."""
    around = neighbour_colours()[:256, :4]
    found = np.zeros(256, np.uint8)
    for colour, bit in ((BLACK, BLACK), (WHITE, WHITE), (EMPTY, 4)):
        found[(around == colour).any(1)] |= bit
    return found


EYES = eye_table()
DIRECT = direct_table()
HAS_EMPTY = 4
"""The bit of DIRECT for an empty neighbour."""
