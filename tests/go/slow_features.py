"""Features of a position by sets and dictionaries, to compare the compiled ones with."""

from landmark.go.rules.geometry import BLACK, WHITE, column_of, row_of
from tests.go.reference import Reference


class SlowPosition(Reference):
    """The reference with the questions that features ask; points are (row, column)."""

    def __init__(self, board):
        super().__init__(board.size)
        self.stones = {
            (row_of(p), column_of(p)): colour
            for colour in (BLACK, WHITE)
            for p in board.stones(colour)
        }
        self.seen = set()
        self.own, self.other = board.to_move, BLACK + WHITE - board.to_move
        ko = int(board.state["ko"])
        self.ko = (row_of(ko), column_of(ko)) if ko else None

    def points(self):
        return [(row, column) for row in range(self.size) for column in range(self.size)]

    def liberties(self, point, stones=None):
        """The liberties of the chain on a point."""
        stones = self.stones if stones is None else stones
        chain, _ = self.chain(stones, point)
        return {near for stone in chain for near in self.around(stone) if near not in stones}

    def moves(self):
        """The stones after every move that is legal but for superko."""
        found = {}
        for point in self.points():
            after = None if point == self.ko else self.after(self.own, point)
            if after is not None:
                found[point] = after
        return found
