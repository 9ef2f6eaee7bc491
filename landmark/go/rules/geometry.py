"""Points of a board, their neighbours, and what people call them.

Boards of every size lie in the corner of the same 20 x 21 grid, so that a neighbour is a constant
away and one compiled engine serves all sizes. The column left of a row is also the border to the
right of the row above. Points are unsigned: numba then leaves out its test for negative indices.
"""

import numpy as np

SMALLEST, LARGEST = 2, 19
STRIDE = LARGEST + 1
NUM_POINTS = STRIDE * (LARGEST + 2) + 1
AREA = LARGEST * LARGEST

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
PASS = 0
"""Point 0 is border, so it can stand for a pass."""
COLOUR_NAMES = {BLACK: "black", WHITE: "white"}

COLUMNS = "ABCDEFGHJKLMNOPQRST"
"""I is left out, as on every board with letters."""

NORTH, WEST, EAST, SOUTH = np.uint64(STRIDE), np.uint64(1), np.uint64(1), np.uint64(STRIDE)
"""How far a neighbour is; north and west are subtracted."""
OFFSETS = (
    -STRIDE, -1, 1, STRIDE,
    -STRIDE - 1, -STRIDE + 1, STRIDE - 1, STRIDE + 1,
)  # fmt: skip
"""Neighbours in the order of the 3x3 code: N W E S, then NW NE SW SE."""


def opponent(colour: int) -> int:
    return BLACK + WHITE - colour


def point_at(row: int, column: int) -> int:
    """The point in a row from the top and a column from the left, counted from 0."""
    return (row + 1) * STRIDE + column + 1


def row_of(point: int) -> int:
    return point // STRIDE - 1


def column_of(point: int) -> int:
    return point % STRIDE - 1


def points_of(size: int) -> list[int]:
    """All points of a board, row by row from the top."""
    return [point_at(row, column) for row in range(size) for column in range(size)]


def vertex(point: int, size: int) -> str:
    """The name of a point, as D4; rows are counted from the bottom."""
    if point == PASS:
        return "pass"
    return f"{COLUMNS[column_of(point)]}{size - row_of(point)}"


def parse_vertex(text: str, size: int) -> int | None:
    """The point of a name in any case, `pass` too; None: there is no such point."""
    text = text.upper()
    if text == "PASS":
        return PASS
    column, row = COLUMNS.find(text[:1]), text[1:]
    if not text or column < 0 or not (row.isascii() and row.isdigit()) or len(row) > 2:
        return None
    if not (column < size and 1 <= int(row) <= size):
        return None
    return point_at(size - int(row), column)
