"""Nearest neighbours: what training said in like places counts beside what the model says.

Khandelwal et al. 2021, "Nearest Neighbor Machine Translation", arXiv 2010.00710. Every hidden state
of the training text is kept with the token that came next there. A search asks for the k states
nearest to its own, h, and

    p(y) = (1 - λ) p_model(y) + λ p_kNN(y),   p_kNN(y) ∝ Σ_i [y = y_i] exp(-|h - h_i|² / T)

Departures: the state is the one that logits are made of (theirs: what the last feed-forward layer
reads), and the k nearest are found exactly.
"""

import math
from typing import Annotated, Any, Protocol

import torch
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings

_BLOCK = 64  # keys that are first compared by their nearest
_ROOM = 1 << 25  # distances held at a time: 128 MB in float32


@settings
class NeighbourConfig:
    """How neighbours are asked."""

    count: Annotated[int, Field(ge=1)] = 32
    """k: how many are asked."""
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """λ: how much they count; the model has the rest."""
    temperature: Annotated[float, Field(gt=0)] = 10.0
    """T: how much the nearer count more; small ones are sharp."""


class Thinker(Protocol):
    """A model whose hidden states can be seen before it speaks."""

    config: Any

    def start(self, source: Tensor, packing: Any, rows_per_sentence: int, max_length: int) -> Any:
        """Read the source."""

    def advance(self, tokens: Tensor, state: Any) -> Tensor:
        """Hidden states of the next tokens. (R,) -> (R, D)"""

    def say(self, hidden: Tensor) -> Tensor:
        """Their logits. (R, D) -> (R, V)"""


class Datastore:
    """Hidden states, and the token that followed each. keys: (N, D), tokens: (N,)"""

    def __init__(self, keys: Tensor, tokens: Tensor) -> None:
        short = -len(keys) % _BLOCK
        self.keys = torch.cat((keys, keys.new_zeros(short, keys.shape[1])))
        squares = keys.pow(2).sum(1)
        self.squares = torch.cat((squares, squares.new_full((short,), math.inf)))
        self.tokens = torch.cat((tokens, tokens.new_zeros(short)))
        self.size = len(keys)

    def nearest(self, queries: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Squared distances of the nearest, nearest first, and their tokens. (R, D) -> (R, k)

        The k nearest keys lie in the k blocks whose nearest keys are nearest, so only a block's
        nearest is sorted, and then the keys of those blocks.
        """
        count = min(count, self.size)
        rows = max(1, _ROOM // len(self.keys))
        room = queries.new_empty(min(rows, len(queries)), len(self.keys))
        found = [self._nearest(part, count, room[: len(part)]) for part in queries.split(rows)]
        places = torch.cat([place for _, place in found])
        own = queries.pow(2).sum(1, keepdim=True)
        # Rounding may leave a distance of zero a little below it.
        return (torch.cat([part for part, _ in found]) + own).clamp(min=0), self.tokens[places]

    def _nearest(self, queries: Tensor, count: int, room: Tensor) -> tuple[Tensor, Tensor]:
        """|k|² - 2 q k of the nearest keys, and their places."""
        torch.addmm(self.squares[None], queries, self.keys.T, alpha=-2, out=room)
        blocks = room.view(len(queries), -1, _BLOCK)
        chosen = blocks.amin(2).topk(min(count, blocks.shape[1]), largest=False).indices  # (R, b)
        inside = blocks.gather(1, chosen[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)
        distances, places = inside.topk(count, largest=False)
        block = chosen.gather(1, places // _BLOCK)
        return distances, block * _BLOCK + places % _BLOCK


class Neighbours:
    """A speaker that says what a model says and what training said in like places."""

    def __init__(self, model: Thinker, store: Datastore, asked: NeighbourConfig) -> None:
        self.model, self.store, self.asked = model, store, asked
        self.config = model.config

    def start(self, source: Tensor, packing: Any, rows_per_sentence: int, max_length: int) -> Any:
        return self.model.start(source, packing, rows_per_sentence, max_length)

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Logarithms of the mixed probabilities. (R,) -> (R, V)"""
        hidden = self.model.advance(tokens, state)
        own = self.model.say(hidden).log_softmax(-1)
        distances, words = self.store.nearest(hidden, self.asked.count)
        weights = (-distances / self.asked.temperature).softmax(-1)
        theirs = torch.zeros_like(own).scatter_add_(1, words, weights)
        share = self.asked.share
        return torch.logaddexp(own + math.log(1 - share), theirs.log() + math.log(share))
