"""What a search asks of a network, or of anything else that judges positions: no more than this."""

from typing import Any, NamedTuple, Protocol

import numpy as np


class Evaluation(NamedTuple):
    """The judgement of a batch of B positions."""

    priors: np.ndarray
    """(B, NUM_POINTS) probabilities of the moves by point, 0 for a pass; those of other points are
    ignored, and the rest need not add up to 1."""
    values: np.ndarray
    """(B,) expected results of the colour to move, from 0 (lost) to 1 (won)."""
    ownership: np.ndarray | None = None
    """(B, NUM_POINTS) from -1 to 1: who will own each point, 1 for the colour to move."""
    scores: np.ndarray | None = None
    """(B,) expected points of the colour to move, komi included."""


class Evaluator(Protocol):
    """Judges positions for a search by PUCT.

    It may have `evaluate_root(states)`, for a judgement with more care of the positions that
    searches begin with, and `for_thread(number)`, another evaluator that a thread beside this one
    may ask at the same time.
    """

    batch_size: int
    """How many positions it likes to see at once."""

    def evaluate(self, states: np.ndarray) -> Evaluation:
        """Judge an array of STATE records, each with its colour to move."""
        ...


def judge_root(evaluator: Evaluator, states: np.ndarray) -> Evaluation:
    """The evaluator's most careful judgement."""
    careful: Any = getattr(evaluator, "evaluate_root", evaluator.evaluate)
    judged: Evaluation = careful(states)
    return judged
