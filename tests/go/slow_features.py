"""Features of a position by sets and dictionaries, to compare the compiled ones with."""

import numpy as np

from landmark.go.rules.geometry import BLACK, PASS, WHITE, column_of, row_of
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

    def is_own_eye(self, point):
        """All neighbours are ours; of the diagonal ones at most one is not, none at the edge."""
        row, column = point
        if any(self.stones.get(near) != self.own for near in self.around(point)):
            return False
        corners = [(row + r, column + c) for r in (-1, 1) for c in (-1, 1)]
        inside = [p for p in corners if 0 <= p[0] < self.size and 0 <= p[1] < self.size]
        lost = sum(self.stones.get(p) == self.other for p in inside)
        return lost + (len(inside) < 4) < 2


def slow_board_planes(board, komi):
    """The feature set "board"."""
    slow, size = SlowPosition(board), board.size
    planes = np.zeros((20, size, size), np.float32)
    planes[2] = 1
    for place, colour in slow.stones.items():
        is_others = int(colour != slow.own)
        planes[is_others][place] = 1
        count = len(slow.liberties(place))
        if count < 4:
            planes[3 * (1 + is_others) + count - 1][place] = 1
    for age, move in enumerate(board.moves[:-6:-1]):
        if move.point:
            planes[9 + age, row_of(move.point), column_of(move.point)] = 1
    if slow.ko:
        planes[14][slow.ko] = 1
    for place, after in slow.moves().items():
        planes[15][place] = 1
        planes[16][place] = len(slow.liberties(place, after)) == 1
        planes[17][place] = len(after) <= len(slow.stones)
    planes[18] = bool(board.moves) and board.moves[-1].point == PASS
    planes[19] = komi / 10 * (1 if board.to_move == WHITE else -1)
    return planes


def slow_alphago_planes(board):
    """The feature set "alphago-value", its planes of ladders empty."""
    slow, size = SlowPosition(board), board.size
    planes = np.zeros((49, size, size), np.float32)
    planes[2] = planes[3] = 1
    played = {
        (row_of(move.point), column_of(move.point)): number
        for number, move in enumerate(board.moves)
        if move.point
    }
    for place, colour in slow.stones.items():
        planes[int(colour != slow.own)][place], planes[2][place] = 1, 0
        turns = len(board.moves) - played[place]
        planes[4 + min(turns, 8) - 1][place] = 1
        planes[12 + min(len(slow.liberties(place)), 8) - 1][place] = 1
    for place, after in slow.moves().items():
        taken = len(slow.stones) + 1 - len(after)
        if taken:
            planes[20 + min(taken, 8) - 1][place] = 1
        liberties = len(slow.liberties(place, after))
        planes[36 + min(liberties, 8) - 1][place] = 1
        if liberties == 1:
            planes[28 + min(len(slow.chain(after, place)[0]), 8) - 1][place] = 1
        planes[46][place] = not slow.is_own_eye(place)
    planes[48] = board.to_move == BLACK
    return planes
