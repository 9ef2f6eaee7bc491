"""The 3x3 patterns of playouts: moves that make shape beside the last one.

Gelly, Wang, Munos and Teytaud 2006, "Modification of UCT with Patterns in Monte-Carlo Go", figure
1 and those after it: hane, cut, and moves at the edge.

A pattern's nine letters are a square around the move, row by row; it holds in all rotations,
reflections and, where it says so, for both colours.

    X our stone   O theirs   . empty   x not ours   o not theirs   # edge   ? anything
"""

import numpy as np

from landmark.go.rules.geometry import BLACK, BORDER, EMPTY, WHITE
from landmark.go.rules.shape import NUM_CODES, neighbour_colours

FOR_BOTH = (
    "XOX ... ???",  # hane around a single stone
    "XO. ... ?.?",  # hane
    "XO? X.. x.?",  # hane that turns
    "XO? O.o ?o?",  # cut
    "XO? O.X ???",  # cut that is peeped at
    "?X? O.O ooo",  # wedge
    "X.? O.? ###",  # on the second line: below a contact
    "OX? X.O ###",  # block at the edge
    "?X? x.O ###",
    "?XO x.x ###",
    "?OX X.O ###",
)
"""The colours may be exchanged."""

_PLACES = (1, 3, 5, 7, 0, 2, 6, 8)
"""Where the neighbours of a code, in geometry.OFFSETS' order, stand in the nine letters."""


def _versions(pattern: str) -> set[str]:
    """The nine letters in all rotations and reflections."""
    square = np.array(list(pattern.replace(" ", ""))).reshape(3, 3)
    turned = [np.rot90(square, k) for k in range(4)]
    return {"".join(each.flat) for square in turned for each in (square, square.T)}


def _matches(letters: str, own: int) -> np.ndarray:
    """Which codes a square fits, seen by a colour."""
    other = BLACK + WHITE - own
    stands_for = {
        "X": (own,), "O": (other,), ".": (EMPTY,), "#": (BORDER,),
        "x": (other, EMPTY), "o": (own, EMPTY), "?": (EMPTY, BLACK, WHITE, BORDER),
    }  # fmt: skip
    around = neighbour_colours()
    fits = np.ones(NUM_CODES, bool)
    for k, place in enumerate(_PLACES):
        fits &= np.isin(around[:, k], stands_for[letters[place]])
    return fits


def pattern_table() -> np.ndarray:
    """For every code, 1 where a move in its middle makes shape, for either colour."""
    table = np.zeros(NUM_CODES, np.uint8)
    for pattern in FOR_BOTH:
        for letters in _versions(pattern):
            table |= _matches(letters, BLACK) | _matches(letters, WHITE)
    return table


SHAPES = pattern_table()
