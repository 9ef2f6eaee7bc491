"""Openings of a match: short, different from each other under all symmetries."""

import random

from landmark.go.rules.geometry import BLACK, WHITE, point_at
from landmark.go.rules.position import Position
from landmark.go.rules.symmetry import symmetric_points

NUM_OPENINGS = 50
_SHORTEST, _LONGEST = 2, 4
_TRIES = 10_000

Opening = tuple[int, ...]


def openings(size: int, count: int = NUM_OPENINGS, seed: int = 0) -> list[Opening]:
    """Moves of Black and White in turn, off the first two lines where the board has room.

    No two lead to the same position, turned or reflected. Small boards have fewer.
    """
    rng = random.Random(seed)
    margin = 2 if size >= 7 else 0
    middle = range(margin, size - margin)
    points = [point_at(row, column) for row in middle for column in middle]
    found: dict[object, Opening] = {}
    for _ in range(_TRIES):
        if len(found) == count:
            break
        length = min(rng.randint(_SHORTEST, _LONGEST), len(points) - 1)
        moves = tuple(rng.sample(points, length))
        if _is_quiet(moves, size):
            found.setdefault(_canonical_position(moves, size), moves)
    return list(found.values())


def _is_quiet(moves: Opening, size: int) -> bool:
    """Whether all moves are legal and capture nothing."""
    position = Position(size)
    for point in moves:
        if not position.is_legal(position.to_move, point):
            return False
        if position.play(position.to_move, point):
            return False
    return True


def _canonical_position(moves: Opening, size: int) -> tuple[tuple[int, int], ...]:
    """The same for all sequences that lead to the same stones, up to a symmetry."""
    stones = [(point, WHITE if number % 2 else BLACK) for number, point in enumerate(moves)]
    images = (
        tuple(sorted((int(table[point]), colour) for point, colour in stones))
        for table in symmetric_points(size)
    )
    return min(images)
