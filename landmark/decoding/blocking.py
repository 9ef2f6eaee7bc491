"""Blocked next tokens: those that repeat an n-gram, and the end token before min_length.

Blocking n-grams: Paulus et al. 2018, arXiv 1705.04304, section 2.5.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

PADDING = -1
"""Stands before rows that are shorter than others; no token."""


@dataclass(frozen=True)
class Blocking:
    """What may not be said."""

    no_repeat_ngram: int | None = None
    """No n-gram of this many tokens occurs twice."""
    min_length: int = 0
    """Minimum number of tokens before the end token."""

    def apply(self, scores: Tensor, said: Tensor, length: int, end: int | None) -> Tensor:
        """Scores of next tokens (R, V), minus infinity for those that may not come.

        said: what each row holds so far, begun with PADDING where it is shorter (R, T); `length`
        of it counts towards `min_length`.
        """
        if end is not None and length < self.min_length:
            scores = scores.clone()
            scores[:, end] = -torch.inf
        if self.no_repeat_ngram is not None:
            rows, tokens = repeating(said, self.no_repeat_ngram)
            scores = scores.index_put((rows, tokens), scores.new_tensor(-torch.inf))
        return scores


def repeating(said: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Rows, and tokens that would end a second n-gram of that size there. (R, T) -> (N,), (N,)"""
    if said.shape[1] < size:
        return said.new_empty(0), said.new_empty(0)
    ngrams = said.unfold(1, size, 1)  # (R, T - size + 1, size)
    context = said[:, said.shape[1] - size + 1 :]
    is_same = (ngrams[:, :, :-1] == context[:, None]).all(-1) & (ngrams[:, :, -1] != PADDING)
    rows, places = is_same.nonzero(as_tuple=True)
    return rows, ngrams[rows, places, -1]
