"""BPE-dropout: random merges of a text are left out in training, so a word has many segmentations.

Provilkov et al. 2020, arXiv 1910.13267. Departure: the paper leaves out merges while it encodes a
text; this undoes merges of a text that was encoded once. Each merged token is split into its two
parts with a given probability, and so are the parts.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_WHOLE = -1  # in place of the halves of a token that was not merged


class BpeDropout:
    """Undoes merges at random; a sequence that would get longer than `limit` stays as it is."""

    def __init__(
        self, merges: Mapping[int, tuple[int, int]], size: int, probability: float, limit: int
    ) -> None:
        self.halves = np.full((size, 2), _WHOLE)
        for token, halves in merges.items():
            self.halves[token] = halves
        self.probability, self.limit = probability, limit

    def apply(self, tokens: NDArray[np.integer], random: np.random.Generator) -> NDArray[np.int64]:
        """The tokens with some of their merges undone."""
        whole = np.asarray(tokens, dtype=np.int64)
        done = np.zeros(len(whole), dtype=bool)  # a token that stayed whole is not asked again
        pieces = whole
        while not done.all():
            splits = ~done & (self.halves[pieces, 0] != _WHOLE)
            splits &= random.random(len(pieces)) < self.probability
            width = 1 + splits
            ends = np.cumsum(width)
            grown = np.repeat(pieces, width)
            grown[ends[splits] - 2], grown[ends[splits] - 1] = self.halves[pieces[splits]].T
            done, pieces = np.repeat(~splits, width), grown
        return pieces if len(pieces) <= self.limit else whole
