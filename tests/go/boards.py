"""Positions by the names of their points."""

from landmark.go.rules.geometry import BLACK, WHITE, parse_vertex
from landmark.go.rules.position import Position


def points(names: str, size: int = 9) -> list[int]:
    return [parse_vertex(name, size) for name in names.split()]


def point(name: str, size: int = 9) -> int:
    return parse_vertex(name, size)


def position(black: str, white: str = "", size: int = 9, to_move: int = BLACK) -> Position:
    board = Position(size)
    board.set_up(points(black, size), points(white, size), to_move)
    return board


def drawn(*rows: str, to_move: int = BLACK, komi: float = 7.0) -> Position:
    """A position as it is printed: X black, O white, rows from the top."""
    size = len(rows)
    names = {"X": [], "O": []}
    for row, text in enumerate(rows):
        for column, letter in enumerate(text.split()):
            if letter in names:
                names[letter].append(f"{'ABCDEFGHJKLMNOPQRST'[column]}{size - row}")
    board = position(" ".join(names["X"]), " ".join(names["O"]), size, to_move)
    board.komi = komi
    return board


def replayed(moves: str, size: int = 9, komi: float = 7.0) -> Position:
    """The position after moves of Black and White in turn."""
    board = Position(size, komi)
    for move in points(moves, size):
        board.play(board.to_move, move)
    return board


__all__ = ["BLACK", "WHITE", "drawn", "point", "points", "position", "replayed"]
