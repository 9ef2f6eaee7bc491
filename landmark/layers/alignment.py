"""Attention of a decoder's state h over an encoder's states s: which of them matter now.

Additive: v tanh(W [h; s]), Bahdanau et al. 2015, arXiv 1409.0473. Dot: h s, and bilinear: h W s,
Luong et al. 2015, arXiv 1508.04025. MLP: v max(0, W [h; s] + b), additive but for the ReLU: its
scores have no bound and are piecewise linear, where tanh keeps additive ones below sum |v|.
What attention replaced: "last", only the last state, and "mean", all states alike; for these the
weights do not depend on h.

Heads each score and mix a slice of their own, as in Vaswani et al. 2017, arXiv 1706.03762. As
there, projections of query, keys and values come first if wanted; departing from it, none comes
after, as a decoder has a matrix there anyway, and keys have no bias, as it would shift all scores
of a query alike, which softmax ignores.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from landmark.layers.packing import Packing

ScoreName = Literal["dot", "bilinear", "additive", "mlp", "last", "mean"]


class AlignmentMemory:
    """What there is to align with, one row a sentence, without anything left to compute on it.

    keys: (B, H, S, K) as the score wants them, values: (B, H, S, V),
    bias: (B, 1, 1, S), 0 for tokens that can be looked at, -inf elsewhere.
    """

    def __init__(self, keys: Tensor, values: Tensor, bias: Tensor) -> None:
        self.keys, self.values, self.bias = keys, values, bias

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences in this order."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)
        self.bias = self.bias.index_select(0, sentences)

    def first(self, count: int) -> "AlignmentMemory":
        """A view of the first sentences."""
        return AlignmentMemory(self.keys[:count], self.values[:count], self.bias[:count])


class AttentionOutput(nn.Module):
    """A distribution over each sentence's source positions, and the mean of values under it.

    `hidden_size` is the inner width of additive and MLP scores, and the width of projections.
    `scaled` divides dot and bilinear scores by the root of a head's width; None: if projected, so
    that a plain dot is h s and a projected one the Transformer's attention. `score_bias` adds one
    number to all scores, which softmax ignores: published networks count it.
    The observer is for the model around: it knows when the weights of all steps are together.
    """

    def __init__(
        self,
        score: ScoreName,
        query_size: int,
        memory_size: int,
        hidden_size: int,
        num_heads: int = 1,
        projected: bool = False,
        scaled: bool | None = None,
        score_bias: bool = False,
    ) -> None:
        super().__init__()
        self.score, self.num_heads = score, num_heads
        self.context_size = hidden_size if projected else memory_size
        self.observer: Callable[[Tensor], None] | None = None
        self.query: nn.Linear | None = None
        self.key: nn.Linear | None = None
        self.value: nn.Linear | None = None
        has_query = score not in ("last", "mean")
        if projected:
            self.value = _projection(memory_size, hidden_size, bias=True)
        if projected and has_query:
            self.query = _projection(query_size, hidden_size, bias=True)
            self.key = _projection(memory_size, hidden_size, bias=False)
            query_size = memory_size = hidden_size
        _check_heads(num_heads, {"the context's size": self.context_size})
        scaled = projected if scaled is None else scaled
        self.scorer = _build_scorer(score, query_size, memory_size, hidden_size, num_heads, scaled)
        has_bias = score_bias and has_query
        self.score_bias = nn.Parameter(torch.zeros(1)) if has_bias else None

    def remember(
        self, memory: Tensor, packing: Packing, values: Tensor | None = None
    ) -> AlignmentMemory:
        """All that does not depend on the query, computed once. memory: (M, D), packed

        values: what is mixed, where that is something else than what is scored.
        """
        values = memory if values is None else values
        keys = memory if self.key is None else self.key(memory)
        values = values if self.value is None else self.value(values)
        return AlignmentMemory(
            _by_head(packing.unpack(self.scorer.prepare(keys)), self.num_heads),
            _by_head(packing.unpack(values), self.num_heads),
            self._bias(packing, values),
        )

    def forward(self, query: Tensor, memory: AlignmentMemory) -> tuple[Tensor, Tensor]:
        """Look from K states of each sentence, its rows together.

        query: (R, Q), R = B * K -> context (R, C), weights (R, H, S)
        """
        query = query if self.query is None else self.query(query)
        grid = query.reshape(memory.values.shape[0], -1, query.shape[-1])  # (B, K, Q)
        scores = self.scorer(grid, memory.keys)  # (B, H, K, S)
        if self.score_bias is not None:
            scores = scores + self.score_bias
        weights = (scores + memory.bias).softmax(-1)
        context = weights @ memory.values  # (B, H, K, V)
        rows = context.transpose(1, 2).flatten(2).flatten(0, 1)
        return rows, weights.transpose(1, 2).flatten(0, 1)

    def _bias(self, packing: Packing, like: Tensor) -> Tensor:
        """0 for the tokens that can be looked at, -inf elsewhere. (B, 1, 1, S)"""
        place = torch.arange(packing.max_length, device=like.device)
        last = packing.lengths[:, None] - 1
        visible = place == last if self.score == "last" else place <= last
        bias = torch.zeros(visible.shape, dtype=like.dtype, device=like.device)
        return bias.masked_fill_(~visible, -math.inf)[:, None, None]


class _Scorer(nn.Module, ABC):
    """How well a query fits a key, in two parts: what is done once, and what for each query."""

    @abstractmethod
    def prepare(self, keys: Tensor) -> Tensor:
        """(M, D) -> (M, H * K)"""

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, K, Q), (B, H, S, K) -> (B, H, K, S)"""


class _Constant(_Scorer):
    """The score of "last" and "mean": 0, so that the memory's bias alone decides."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def prepare(self, keys: Tensor) -> Tensor:
        return keys[:, :0]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query.new_zeros(query.shape[0], self.num_heads, query.shape[1], keys.shape[2])


class _Product(_Scorer):
    """h s, or with a matrix for each head h W s; divided by the root of the head's width."""

    def __init__(
        self, query_size: int, key_size: int, num_heads: int, bilinear: bool, scaled: bool
    ) -> None:
        super().__init__()
        _check_heads(num_heads, {"the query's size": query_size, "the memory's size": key_size})
        self.num_heads, self.head_size = num_heads, query_size // num_heads
        self.scale = self.head_size**-0.5 if scaled else 1.0
        self.weight = None
        if bilinear:
            shape = (num_heads, self.head_size, key_size // num_heads)
            self.weight = nn.Parameter(torch.empty(shape))
            for matrix in self.weight:
                nn.init.xavier_uniform_(matrix)

    def prepare(self, keys: Tensor) -> Tensor:
        if self.weight is None:
            return keys
        heads = keys.unflatten(1, (self.num_heads, -1))  # (M, H, D/H)
        return torch.einsum("mhd,hqd->mhq", heads, self.weight).flatten(1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return _by_head(query * self.scale, self.num_heads) @ keys.transpose(-2, -1)


class _Perceptron(_Scorer):
    """v f(W [h; s] + b), f being tanh (additive) or max(0, .) (MLP); each head has its own v.

    W [h; s] = W_h h + W_s s, of which the second part is done once.
    """

    def __init__(
        self,
        query_size: int,
        key_size: int,
        hidden_size: int,
        num_heads: int,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        _check_heads(num_heads, {"hidden_size": hidden_size})
        self.num_heads, self.activation = num_heads, activation
        self.from_query = _projection(query_size, hidden_size, bias=False)
        self.from_key = _projection(key_size, hidden_size, bias=True)
        bound = math.sqrt(num_heads / hidden_size)
        self.vector = nn.Parameter(torch.empty(num_heads, hidden_size // num_heads))
        nn.init.uniform_(self.vector, -bound, bound)

    def prepare(self, keys: Tensor) -> Tensor:
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        queries = _by_head(self.from_query(query), self.num_heads)
        hidden = self.activation(queries[:, :, :, None] + keys[:, :, None])  # (B, H, K, S, D/H)
        return torch.einsum("bhksd,hd->bhks", hidden, self.vector)


def _build_scorer(
    score: ScoreName,
    query_size: int,
    key_size: int,
    hidden_size: int,
    num_heads: int,
    scaled: bool,
) -> _Scorer:
    if score in ("last", "mean"):
        return _Constant(num_heads)
    if score in ("additive", "mlp"):
        # In place: the sum of query and key is the largest tensor here, and of no other use.
        activation = torch.tanh_ if score == "additive" else torch.relu_
        return _Perceptron(query_size, key_size, hidden_size, num_heads, activation)
    if score == "dot" and query_size != key_size:
        raise ValueError(
            f"a dot product needs vectors of one size; the query has {query_size}, the memory "
            f"{key_size}: project them, or take another score"
        )
    if score not in ("dot", "bilinear"):
        raise ValueError(
            f"no score is called {score!r}; there are dot, bilinear, additive, mlp, last, mean"
        )
    return _Product(query_size, key_size, num_heads, score == "bilinear", scaled)


def _projection(size: int, wanted: int, bias: bool) -> nn.Linear:
    layer = nn.Linear(size, wanted, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def _by_head(grid: Tensor, num_heads: int) -> Tensor:
    """(B, S, H * K) -> (B, H, S, K)"""
    return grid.unflatten(2, (num_heads, -1)).transpose(1, 2).contiguous()


def _check_heads(num_heads: int, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        if size % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide {name}, {size}")
