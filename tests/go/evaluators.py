"""Evaluators without a network: what they say of a position is a function of its stones."""

import numpy as np

from landmark.go.rules.geometry import BLACK, NUM_POINTS, WHITE
from landmark.go.search.evaluator import Evaluation

U = np.uint64
_MIX = 0xBF58476D1CE4E5B9


class Whimsical:
    """Arbitrary probabilities and values, the same for the same stones and colour to move."""

    def __init__(self, batch_size: int = 1) -> None:
        self.batch_size = batch_size
        self.batches: list[int] = []
        self.seen: list[tuple[int, int]] = []

    def evaluate(self, states: np.ndarray) -> Evaluation:
        self.batches.append(len(states))
        self.seen += [(int(one["hash"]), int(one["to_move"])) for one in states]
        keys = states["hash"] * U(2) + states["to_move"]
        mixed = keys[:, None] * U(_MIX) + np.arange(NUM_POINTS + 1, dtype=U) * U(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> U(31))) * U(_MIX)
        drawn = (mixed >> U(40)) / 2**24
        priors = np.exp(2 * drawn[:, 1:]).astype(np.float32)
        return Evaluation(priors, drawn[:, 0].astype(np.float32))

    def for_thread(self, number: int) -> "Whimsical":
        return self


class Materialist(Whimsical):
    """All moves are alike; stones on the board are points, and points are chances."""

    def __init__(self, batch_size: int = 1, has_ownership: bool = False, komi: float = 0.0) -> None:
        super().__init__(batch_size)
        self.has_ownership, self.komi = has_ownership, komi

    def evaluate(self, states: np.ndarray) -> Evaluation:
        colours = states["colour"]
        black, white = (colours == BLACK).sum(1), (colours == WHITE).sum(1)
        sign = np.where(states["to_move"] == BLACK, 1.0, -1.0)
        lead = sign * (black.astype(float) - white - self.komi)
        values = 1 / (1 + np.exp(-0.5 * lead))
        owned = np.zeros((len(states), NUM_POINTS), np.float32)
        owned[colours == BLACK], owned[colours == WHITE] = 1, -1
        ownership = (sign[:, None] * owned).astype(np.float32) if self.has_ownership else None
        self.batches.append(len(states))
        return Evaluation(np.ones((len(states), NUM_POINTS), np.float32), values, ownership)
