"""Encoder and decoder blocks: sub-layers, each with dropout, a residual sum and a layer norm.

Vaswani et al. 2017, arXiv 1706.03762, section 3.1. The paper's post-norm computes
LayerNorm(x + Sublayer(x)); pre-norm computes x + Sublayer(LayerNorm(x)). The encoder's block is
BERT's too, and with attention to the left only it is GPT's.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from landmark.layers.attention import MultiHeadAttention
from landmark.layers.cache import KeyValueCache, Memory
from landmark.layers.dropout import Dropout
from landmark.layers.feedforward import ActivationName, FeedForward
from landmark.layers.packing import Packing


def _attention_gain(pre_norm: bool) -> float:
    """Post-norm begins with softer attention, and learns sooner for it (docs/translation.md).

    nn.MultiheadAttention draws its three projections as one matrix, which comes to the same.
    """
    return 1.0 if pre_norm else 2**-0.5


class Residual(nn.Module):
    """The wrapping around every sub-layer: norm, dropout and the sum with its input."""

    def __init__(
        self, hidden_size: int, dropout: float, pre_norm: bool, epsilon: float = 1e-5
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size, epsilon)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


class EncoderBlock(nn.Module):
    """Self-attention, in both directions or to the left only, then feed-forward."""

    def __init__(
        self,
        hidden_size: int,
        inner_size: int,
        num_heads: int,
        dropout: float,
        pre_norm: bool,
        *,
        attention_dropout: float = 0.0,
        activation: ActivationName = "relu",
        epsilon: float = 1e-5,
        causal: bool = False,
    ) -> None:
        super().__init__()
        gain = _attention_gain(pre_norm)
        self.attention = MultiHeadAttention(hidden_size, num_heads, attention_dropout, gain)
        self.feedforward = FeedForward(hidden_size, inner_size, activation)
        self.around_attention = Residual(hidden_size, dropout, pre_norm, epsilon)
        self.around_feedforward = Residual(hidden_size, dropout, pre_norm, epsilon)
        self.causal = causal

    def forward(self, x: Tensor, packing: Packing, cache: KeyValueCache | None = None) -> Tensor:
        """An empty cache takes up the keys and values, for steps that go on. x: (N, D)"""
        x = self.around_attention(
            x, lambda x: self.attention(x, packing, causal=self.causal, cache=cache)
        )
        return self.around_feedforward(x, self.feedforward)

    def step(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """The same for the newest token of each row only. x: (R, D)"""
        x = self.around_attention(x, lambda x: self.attention.step(x, cache))
        return self.around_feedforward(x, self.feedforward)


class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the encoder's memory, then feed-forward."""

    def __init__(
        self,
        hidden_size: int,
        inner_size: int,
        num_heads: int,
        dropout: float,
        pre_norm: bool,
        *,
        activation: ActivationName = "relu",
    ) -> None:
        super().__init__()
        gain = _attention_gain(pre_norm)
        self.attention = MultiHeadAttention(hidden_size, num_heads, gain=gain)
        self.cross_attention = MultiHeadAttention(hidden_size, num_heads, gain=gain)
        self.feedforward = FeedForward(hidden_size, inner_size, activation)
        self.around_attention = Residual(hidden_size, dropout, pre_norm)
        self.around_cross_attention = Residual(hidden_size, dropout, pre_norm)
        self.around_feedforward = Residual(hidden_size, dropout, pre_norm)

    def forward(
        self, x: Tensor, packing: Packing, memory: Tensor, memory_packing: Packing
    ) -> Tensor:
        """x: (N, D), memory: (M, D)"""
        x = self.around_attention(x, lambda x: self.attention(x, packing, causal=True))
        x = self.around_cross_attention(
            x, lambda x: self.cross_attention(x, packing, memory, memory_packing)
        )
        return self.around_feedforward(x, self.feedforward)

    def step(self, x: Tensor, cache: KeyValueCache, memory: Memory) -> Tensor:
        """The same for the newest token of each row only. x: (R, D)"""
        x = self.around_attention(x, lambda x: self.attention.step(x, cache))
        x = self.around_cross_attention(x, lambda x: self.cross_attention.cross_step(x, memory))
        return self.around_feedforward(x, self.feedforward)


def run_block(block: nn.Module, recompute: bool, *inputs: Any) -> Tensor:
    """A block's output; to `recompute` activations in the backward pass saves their memory."""
    if recompute and block.training:
        recomputed: Tensor = checkpoint(block, *inputs, use_reentrant=False)
        return recomputed
    computed: Tensor = block(*inputs)
    return computed
