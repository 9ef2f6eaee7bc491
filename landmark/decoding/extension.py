"""The likeliest next words of hypotheses, found without sorting whole vocabularies."""

from dataclasses import dataclass

import torch
from torch import Tensor

_BLOCK = 32
_WORTHWHILE = 1024  # smaller vocabularies are sorted whole


@dataclass
class Extensions:
    """N candidates for each of B sentences, in the order the search prefers them."""

    totals: Tensor
    """Log-probabilities of all that is then said; -inf where there is no candidate. (B, N)"""
    rows: Tensor
    """Which of the sentence's hypotheses is extended. (B, N)"""
    words: Tensor
    """By which token. (B, N)"""

    def pick(self, order: Tensor) -> "Extensions":
        """These candidates of each sentence. order: (B, M)"""
        return Extensions(*(part.gather(1, order) for part in (self.totals, self.rows, self.words)))

    def keep(self, sentences: Tensor) -> "Extensions":
        """The candidates of these sentences."""
        return Extensions(self.totals[sentences], self.rows[sentences], self.words[sentences])


def likeliest(totals: Tensor, log_probabilities: Tensor, count: int) -> Extensions:
    """The `count` likeliest extensions of each sentence, best first.

    totals: (B, K) of the K hypotheses a sentence; log_probabilities: (B * K, V) of next tokens.
    """
    batch, beam = totals.shape
    vocabulary = log_probabilities.shape[1]
    if vocabulary < max(_WORTHWHILE, _BLOCK * count):
        extended = totals[:, :, None] + log_probabilities.view(batch, beam, vocabulary)
        best, flat = extended.flatten(1).topk(min(count, beam * vocabulary))
        return Extensions(best, flat // vocabulary, flat % vocabulary)
    # The `count` largest stand in the `count` blocks that have the largest maxima.
    maxima = _block_maxima(log_probabilities).view(batch, beam, -1) + totals[:, :, None]
    blocks = maxima.shape[2]
    flat = maxima.flatten(1).topk(count, sorted=False).indices  # (B, count)
    rows, start = flat // blocks, flat % blocks * _BLOCK
    words = start[:, :, None] + torch.arange(_BLOCK, device=totals.device)  # (B, count, block)
    first = torch.arange(batch, device=totals.device)[:, None] * beam
    place = (first + rows)[:, :, None] * vocabulary + words.clamp(max=vocabulary - 1)
    extended = log_probabilities.flatten()[place] + totals.gather(1, rows)[:, :, None]
    extended.masked_fill_(words >= vocabulary, -torch.inf)
    best, flat = extended.flatten(1).topk(count)
    return Extensions(best, rows.gather(1, flat // _BLOCK), words.flatten(1).gather(1, flat))


def _block_maxima(values: Tensor) -> Tensor:
    """The maximum of each run of `_BLOCK` numbers, the last one shorter. (R, V) -> (R, blocks)"""
    whole = values.shape[1] // _BLOCK * _BLOCK
    maxima = values[:, :whole].unflatten(1, (-1, _BLOCK)).amax(-1)
    if whole == values.shape[1]:
        return maxima
    return torch.cat((maxima, values[:, whole:].amax(-1, keepdim=True)), 1)


def keep_in_place(kept: Tensor) -> Tensor:
    """The places that are kept, those at the end moved into the gaps, so that few move."""
    places = kept.nonzero()[:, 0]
    gaps = (~kept[: len(places)]).nonzero()[:, 0]
    order = torch.arange(len(places), device=kept.device)
    order[gaps] = places[len(places) - len(gaps) :]
    return order
