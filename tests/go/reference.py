"""The rules of Go in a few lines of sets and dictionaries, to compare the engine with."""


class Reference:
    def __init__(self, size, suicide_allowed=False):
        self.size, self.suicide_allowed = size, suicide_allowed
        self.stones = {}
        self.seen = {frozenset()}

    def around(self, point):
        row, column = point
        near = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        return [(r, c) for r, c in near if 0 <= r < self.size and 0 <= c < self.size]

    def chain(self, stones, point):
        chain, todo = {point}, [point]
        while todo:
            for near in self.around(todo.pop()):
                if near not in chain and stones.get(near) == stones[point]:
                    chain.add(near)
                    todo.append(near)
        return chain, any(near not in stones for stone in chain for near in self.around(stone))

    def after(self, colour, point):
        """The stones after a move; None if it is illegal."""
        if point in self.stones:
            return None
        stones = {**self.stones, point: colour}
        for near in [*self.around(point), point]:
            if stones.get(near) == (colour if near == point else 3 - colour):
                chain, lives = self.chain(stones, near)
                if not lives and near == point and not self.suicide_allowed:
                    return None
                stones = stones if lives else {p: c for p, c in stones.items() if p not in chain}
        return None if frozenset(stones.items()) in self.seen else stones

    def play(self, colour, point):
        self.stones = self.after(colour, point)
        self.seen.add(frozenset(self.stones.items()))
