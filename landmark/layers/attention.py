"""Multi-head scaled dot-product attention: one module for self, masked and cross use.

Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section 3.2.
The three input projections share one matrix, so that self-attention projects in a single product
and cross-attention in two. The keys' bias is there, as in every implementation, but not added: it
shifts all scores of a query alike, which softmax ignores. Its true gradient is zero; the rounding
noise in its place would be blown up by Adam to full steps that no two layouts of a batch share.
Dropout of the weights is GPT's and BERT's.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.layers.cache import KeyValueCache, Memory
from landmark.layers.dropout import Dropout
from landmark.layers.layout import PackedLinear
from landmark.layers.packing import Packing

Observer = Callable[[Tensor], None]
_SHORT = 64  # tokens; at 100, the fused kernel is the faster one on a CPU too


def check_heads(num_heads: int, hidden_size: int) -> None:
    """Refuse a width that heads cannot share out evenly."""
    if hidden_size % num_heads:
        raise ValueError(f"num_heads {num_heads} does not divide hidden_size {hidden_size}")


def attention_weights(
    query: Tensor, key: Tensor, visible: Tensor | None = None, causal: bool = False
) -> Tensor:
    """softmax(Q K^T / sqrt(d)) (equation 1): how much each query looks at each key. (B, H, T, S)"""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return scores.softmax(-1)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) of section 3.2.2 on packed tokens."""

    matrices: ClassVar = {"input": 3, "output": 1}
    """The linear layers, and how many matrices each is made of: for optimisers of matrices."""

    def __init__(
        self, hidden_size: int, num_heads: int, dropout: float = 0.0, gain: float = 1.0
    ) -> None:
        """gain: how large the input projections begin, by Xavier's measure."""
        super().__init__()
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads
        self.input = nn.Linear(hidden_size, 3 * hidden_size)  # query, key, value
        self.output = nn.Linear(hidden_size, hidden_size)
        self.dropout = Dropout(dropout)
        self.observer: Observer | None = None
        for matrix in self.input.weight.chunk(3):
            nn.init.xavier_uniform_(matrix, gain)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.input.bias)
        nn.init.zeros_(self.output.bias)

    def forward(
        self,
        x: Tensor,
        packing: Packing,
        memory: Tensor | None = None,
        memory_packing: Packing | None = None,
        *,
        causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Attend among the tokens of each sequence, or to its memory. x: (N, D), memory: (M, D)

        An empty cache takes up the tokens' keys and values, for steps that go on from them.
        """
        if (memory is None) != (memory_packing is None):
            raise ValueError("memory and its packing go together")
        if memory is not None and memory_packing is not None:
            remembered = self.remember(memory, memory_packing)
            query = self._split(packing.unpack(self._project_query(x)), 1)[0]  # (B, H, T, D/H)
            key, value, visible = remembered.keys, remembered.values, remembered.visible
        else:
            # In a cache, all keys have their bias, or none: those that steps add have it.
            projected = self._project(x) if cache is None else self.input(x)
            query, key, value = self._split(packing.unpack(projected), 3)
            if cache is not None:
                cache.append(key, value)
            # To the right of a causal query there is only what it may not see anyway.
            visible = None if causal else packing.visible
        return self.output(packing.pack(self._attend(query, key, value, visible, causal)))

    def remember(self, memory: Tensor, packing: Packing) -> Memory:
        """Keys and values of the encoder's states, to attend to. memory: (M, D)"""
        size = self.hidden_size
        projected = F.linear(memory, self.input.weight[size:], self._bias()[size:])
        key, value = self._split(packing.unpack(projected), 2)
        return Memory(key, value, packing.visible)

    def step(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Attend from the newest token of each row to all its tokens so far. x: (R, D)"""
        # The keys' bias may as well be added here, which saves leaving it out.
        projected: Tensor = self.input(x)
        query, key, value = self._split(projected.view(-1, cache.beams, 3 * self.hidden_size), 3)
        keys, values = cache.append(key, value)
        return self.output(self._attend_newest(query, keys, values, cache.bias).view(x.shape))

    def cross_step(self, x: Tensor, memory: Memory) -> Tensor:
        """Attend from the newest tokens to the memory. x: (R, D), R a multiple of its sentences.

        The beams of one sentence are its queries, so they share one copy of keys and values.
        """
        grid = x.view(len(memory.keys), -1, self.hidden_size)  # (B, beams, D)
        query = self._split(self._project_query(grid), 1)[0]
        attended = self._attend_newest(query, memory.keys, memory.values, memory.bias)
        return self.output(attended.view(x.shape))

    def _attend_newest(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None
    ) -> Tensor:
        """Equation 1: of one query by the fused kernel, of a few beams written out, the faster."""
        if query.shape[2] == 1 and self.observer is None:
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        else:
            scores = (query * self.head_size**-0.5) @ key.transpose(-2, -1)
            weights = (scores if bias is None else scores + bias).softmax(-1)  # (B, H, beams, S)
            if self.observer is not None:
                self.observer(weights.detach())
            mixed = weights @ value
        return mixed.transpose(1, 2).reshape(len(query), -1, self.hidden_size)

    def _project(self, x: Tensor) -> Tensor:
        if isinstance(self.input, PackedLinear) and not torch.is_grad_enabled():
            return self.input(x)  # all keys have their bias, which softmax ignores
        return F.linear(x, self.input.weight, self._bias())

    def _bias(self) -> Tensor:
        """The input bias with zeros for the keys."""
        query, key, value = self.input.bias.chunk(3)
        return torch.cat((query, torch.zeros_like(key), value))

    def _project_query(self, x: Tensor) -> Tensor:
        return F.linear(
            x, self.input.weight[: self.hidden_size], self.input.bias[: self.hidden_size]
        )

    def _split(self, grid: Tensor, parts: int) -> tuple[Tensor, ...]:
        """(B, T, parts * D) to `parts` times (B, H, T, D/H)."""
        batch, time = grid.shape[:2]
        heads = grid.view(batch, time, parts, self.num_heads, self.head_size)
        return heads.permute(2, 0, 3, 1, 4).unbind(0)

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None, causal: bool
    ) -> Tensor:
        """Weighted mean of values: by the fastest kernel, or written out to look at or to drop."""
        drops = self.training and self.dropout.probability > 0
        if self.observer is not None or drops:
            weights = attention_weights(query, key, visible, causal)
            if self.observer is not None:
                self.observer(weights.detach())
            mixed = self.dropout(weights) @ value
        elif self.training and _is_short(query, key):
            mixed = _ShortAttention.apply(query, key, value, visible, causal)
        else:
            mixed = F.scaled_dot_product_attention(
                query, key, value, attn_mask=visible, is_causal=causal
            )
        return mixed.transpose(1, 2).reshape(query.shape[0], query.shape[2], self.hidden_size)


def _is_short(query: Tensor, key: Tensor) -> bool:
    """Whether the fused kernel, made for long sequences, is the slower one in training."""
    eager = not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling()
    return eager and query.device.type == "cpu" and max(query.shape[2], key.shape[2]) <= _SHORT


class _ShortAttention(torch.autograd.Function):
    """Equation 1 that keeps its weights, which makes the backward pass four plain products.

    query: (B, H, T, D), key and value: (B, H, S, D), visible: (B, 1, 1, S) or None.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None, causal: bool
    ) -> Tensor:
        shape, sources = query.shape, key.shape[2]
        query, key, value = (x.reshape(-1, *x.shape[2:]) for x in (query, key, value))
        scores = torch.bmm(query, key.transpose(1, 2)).mul_(shape[-1] ** -0.5)
        grid = scores.view(*shape[:2], -1, sources)
        if causal:
            grid += scores.new_full(grid.shape[2:], -math.inf).triu_(1)
        if visible is not None:
            grid += torch.zeros_like(visible, dtype=grid.dtype).masked_fill_(~visible, -math.inf)
        weights = scores.softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.heads = shape[:2]
        return torch.bmm(weights, value).view(shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        query, key, value, weights = ctx.saved_tensors
        gradient = gradients[0].reshape(query.shape)
        to_weights = torch.bmm(gradient, value.transpose(1, 2))
        to_scores = torch.ops.aten._softmax_backward_data(to_weights, weights, -1, weights.dtype)
        to_scores.mul_(query.shape[-1] ** -0.5)
        to_query = torch.bmm(to_scores, key)
        to_key = torch.bmm(to_scores.transpose(1, 2), query)
        to_value = torch.bmm(weights.transpose(1, 2), gradient)
        split = (x.view(*ctx.heads, *x.shape[1:]) for x in (to_query, to_key, to_value))
        return *split, None, None
