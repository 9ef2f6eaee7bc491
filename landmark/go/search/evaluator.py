"""What a search asks of a network, or of anything else that judges positions: no more than this."""

from typing import NamedTuple, Protocol

import numpy as np


class Evaluation(NamedTuple):
    """The judgement of a batch of B positions."""

    priors: np.ndarray
    """(B, NUM_POINTS) probabilities of the moves by point, 0 for a pass; those of other points are
    ignored, and the rest need not add up to 1."""
    values: np.ndarray
    """(B,) expected results of the colour to move, from 0 (lost) to 1 (won)."""


class Evaluator(Protocol):
    """Judges positions for a search by PUCT."""

    batch_size: int
    """How many positions it likes to see at once."""

    def evaluate(self, states: np.ndarray) -> Evaluation:
        """Judge an array of STATE records, each with its colour to move."""
        ...
