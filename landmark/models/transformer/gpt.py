"""GPT: the Transformer's decoder alone, which predicts each next token from those before it.

Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training" (post-norm);
Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2: pre-norm, a last
norm, residual layers begun smaller by the depth); Brown et al. 2020, arXiv 2005.14165, for GPT-3's
shapes. Learned positions, GELU, one matrix for embedding and output. GPT-3's alternating sparse
attention is left out, as its parameters are the same without.
"""

import dataclasses
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.layers.attention import check_heads
from landmark.layers.cache import GapMask, KeyValueCache
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.transformer import EncoderBlock, run_block

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
_SPREAD = 0.02  # standard deviation of fresh weights


@settings
class GPTConfig:
    """Configuration of a GPT."""

    architecture: Literal["gpt"] = "gpt"
    """Network architecture."""
    vocab_size: Size | None = None
    """Vocabulary size; null: the tokenizer's."""
    hidden_size: Size = 768
    """Dimension of the hidden states."""
    inner_size: Size | None = None
    """Dimension of the feed-forward layers; null: 4 * hidden_size."""
    num_heads: Size = 12
    """Number of attention heads; must divide hidden_size."""
    num_layers: Size = 12
    """Number of layers."""
    max_length: Size = 1024
    """Context length in tokens."""
    dropout: Share = 0.1
    """Dropout probability after the embedding and each sub-layer."""
    attention_dropout: Share = 0.1
    """Dropout probability on the attention weights."""
    norm: Literal["post", "pre"] = "pre"
    """post: layer norm after each residual connection (GPT); pre: before each sub-layer (GPT-2,
    GPT-3).
    """
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory, at about a third more compute."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "GPTConfig":
        check_heads(self.num_heads, self.hidden_size)
        return self


def _gpt(layers: int, width: int, heads: int, max_length: int) -> GPTConfig:
    return GPTConfig(
        vocab_size=50_257,
        hidden_size=width,
        num_heads=heads,
        num_layers=layers,
        max_length=max_length,
    )


VARIANTS = {
    "gpt": GPTConfig(vocab_size=40_478, max_length=512, norm="post"),
    "gpt2": _gpt(12, 768, 12, 1024),
    "gpt2-medium": _gpt(24, 1024, 16, 1024),
    "gpt2-large": _gpt(36, 1280, 20, 1024),
    "gpt2-xl": _gpt(48, 1600, 25, 1024),
    "gpt3-small": _gpt(12, 768, 12, 2048),
    "gpt3-medium": _gpt(24, 1024, 16, 2048),
    "gpt3-large": _gpt(24, 1536, 16, 2048),
    "gpt3-xl": _gpt(24, 2048, 16, 2048),  # the paper's 24 heads of 128 do not make 2048
    "gpt3-2.7b": _gpt(32, 2560, 32, 2048),
    "gpt3-6.7b": _gpt(32, 4096, 32, 2048),
    "gpt3-13b": _gpt(40, 5120, 40, 2048),  # the paper's 5140 is not 40 heads of 128
    "gpt3": _gpt(96, 12_288, 96, 2048),
}


@dataclasses.dataclass
class GPTState:
    """What writing on carries: each block's keys and values, and what each of R rows has said."""

    caches: list[KeyValueCache]
    gap_mask: GapMask | None
    tokens: Tensor
    """Of the window that is looked back on. (R, L)"""
    lengths: Tensor
    """How many of them a row has. (R,)"""

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another token."""
        return self.caches[0].length == self.tokens.shape[1]

    def append(self, tokens: Tensor) -> Tensor:
        """Note what each row says now; the places that it stands at. (R,) -> (R,)"""
        places = self.lengths
        self.tokens.scatter_(1, places[:, None], tokens[:, None])
        self.lengths = places + 1
        return places

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""
        for cache in self.caches:
            cache.select(rows)
        if self.gap_mask is not None:
            self.gap_mask.select(rows)
        self.tokens = self.tokens.index_select(0, rows)
        self.lengths = self.lengths.index_select(0, rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """There is nothing but rows."""


class GPT(nn.Module):
    """Tokens in; a hidden state for each next token out."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        if config.vocab_size is None:
            raise UserError("model.vocab_size is not set: give it, or a tokenizer to take it from")
        self.config = config
        width, pre_norm = config.hidden_size, config.norm == "pre"
        self.embedding = nn.Embedding(config.vocab_size, width)
        self.position = nn.Embedding(config.max_length, width)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                width,
                config.inner_size or 4 * width,
                config.num_heads,
                config.dropout,
                pre_norm,
                attention_dropout=config.attention_dropout,
                activation="gelu-tanh",
                causal=True,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.output = nn.Linear(width, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        self._initialize()

    def _initialize(self) -> None:
        """N(0, 0.02); pre-norm: what is added to the residual stream, smaller by its depth."""
        depth = (2 * self.config.num_layers) ** 0.5 if self.config.norm == "pre" else 1.0
        for name, parameter in self.named_parameters():
            is_added = name.endswith(("attention.output.weight", "contract.weight"))
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=_SPREAD / depth if is_added else _SPREAD)

    def forward(self, tokens: Tensor, packing: Packing) -> Tensor:
        """Hidden states of the next tokens. (N,) -> (N, D)"""
        x = self._embed(tokens, packing.positions)
        recompute = self.config.activation_checkpointing
        for block in self.blocks:
            x = run_block(block, recompute, x, packing)
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """(N, D) -> (N, V)"""
        logits: Tensor = self.output(hidden)
        return logits

    def start(self, tokens: Tensor, packing: Packing, room: int) -> tuple[Tensor, GPTState]:
        """Read R beginnings of at least a token; logits of what comes next, and the state there.

        `room`: how many steps to make room for; with more, the window slides. (N,) -> (R, V)
        """
        capacity = min(self.config.max_length, packing.max_length + room)
        x = self._embed(tokens, packing.positions)
        state = self._empty_state(tokens, packing, capacity, like=x)
        for block, cache in zip(self.blocks, state.caches, strict=True):
            x = block(x, packing, cache)
        last = torch.cumsum(packing.lengths, 0) - 1
        return self.logits(self.norm(x.index_select(0, last))), state

    def step(self, tokens: Tensor, state: GPTState) -> Tensor:
        """Logits of the token after these; the state moves on. (R,) -> (R, V)"""
        if state.is_full:
            self._slide(state)
        x = self._embed(tokens, state.append(tokens))
        for block, cache in zip(self.blocks, state.caches, strict=True):
            x = block.step(x, cache)  # type: ignore[operator]
        return self.logits(self.norm(x))

    def _slide(self, state: GPTState) -> None:
        """Make room: rows that fill the window forget their older half; all are read again.

        A learned position belongs to a place in the window, so keys cannot be moved as they are.
        A shorter row is kept whole, so that what it says does not depend on the others.
        """
        is_full = state.lengths == self.config.max_length
        kept = torch.where(is_full, max(1, self.config.max_length // 2), state.lengths)
        packing = Packing(kept)
        places = (state.lengths - kept)[packing.rows] + packing.positions
        tokens = state.tokens[packing.rows, places]
        _, again = self.start(tokens, packing, self.config.max_length)
        for field in dataclasses.fields(state):
            setattr(state, field.name, getattr(again, field.name))

    def _empty_state(
        self, tokens: Tensor, packing: Packing, capacity: int, like: Tensor
    ) -> GPTState:
        rows, config = packing.batch_size, self.config
        gap_mask = (
            None
            if packing.is_full
            else GapMask(packing.lengths, packing.max_length, capacity, like)
        )
        shape = (rows, config.num_heads, capacity, config.hidden_size // config.num_heads)
        said = tokens.new_zeros(rows, capacity)
        said[:, : packing.max_length] = packing.unpack(tokens)
        caches = [KeyValueCache(*shape, like, gap_mask=gap_mask) for _ in self.blocks]
        return GPTState(caches, gap_mask, said, packing.lengths)

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.embedding(tokens) + self.position(positions))
        return embedded
