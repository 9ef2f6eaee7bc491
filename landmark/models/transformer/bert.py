"""BERT: the Transformer's encoder alone, which reads a text in both directions at once.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", arXiv 1810.04805. As in the paper and its published weights: post-norm with an
epsilon of 1e-12, learned positions and segments, a norm on the embeddings, exact GELU, a pooler.
Pre-norm is a departure, for small models that are trained fast. Tokens are packed.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.layers.attention import check_heads
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.transformer import EncoderBlock, run_block

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
_SPREAD = 0.02  # standard deviation of fresh weights


@settings
class BERTConfig:
    """Configuration of a BERT."""

    architecture: Literal["bert"] = "bert"
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
    max_length: Size = 512
    """Maximum sequence length in tokens."""
    segments: Annotated[int, Field(ge=0)] = 2
    """Number of segment embeddings (token types); 0: none (DistilBERT)."""
    pooler: bool = True
    """Add the pooler: a dense layer with tanh on the first token."""
    dropout: Share = 0.1
    """Dropout probability after the embedding and each sub-layer."""
    attention_dropout: Share = 0.1
    """Dropout probability on the attention weights."""
    norm: Literal["post", "pre"] = "post"
    """post: layer norm after each residual connection (the paper's); pre: before each sub-layer."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-12
    """Epsilon of the layer norms; RoBERTa uses 1e-5."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory, at about a third more compute."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "BERTConfig":
        check_heads(self.num_heads, self.hidden_size)
        return self


VARIANTS = {
    "bert-base": BERTConfig(vocab_size=30_522),
    "bert-large": BERTConfig(vocab_size=30_522, hidden_size=1024, num_heads=16, num_layers=24),
}


class BERT(nn.Module):
    """A text's tokens in, and which segment each is of; a hidden state for each out."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        if config.vocab_size is None:
            raise UserError("model.vocab_size is not set: give it, or a tokenizer to take it from")
        self.config = config
        width, pre_norm = config.hidden_size, config.norm == "pre"
        self.embedding = nn.Embedding(config.vocab_size, width)
        self.position = nn.Embedding(config.max_length, width)
        self.segment = nn.Embedding(config.segments, width) if config.segments else None
        self.embedding_norm = nn.LayerNorm(width, config.epsilon)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                width,
                config.inner_size or 4 * width,
                config.num_heads,
                config.dropout,
                pre_norm,
                attention_dropout=config.attention_dropout,
                activation="gelu",
                epsilon=config.epsilon,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(width, config.epsilon) if pre_norm else nn.Identity()
        self.pooler = nn.Linear(width, width) if config.pooler else None
        initialize(self)

    def forward(self, tokens: Tensor, packing: Packing, segments: Tensor | None = None) -> Tensor:
        """Hidden states of all tokens; no segments: all are of the first. (N,) -> (N, D)"""
        embedded = self.embedding(tokens) + self.position(packing.positions)
        if self.segment is not None:
            embedded = embedded + (
                self.segment.weight[0] if segments is None else self.segment(segments)
            )
        x = self.dropout(self.embedding_norm(embedded))
        recompute = self.config.activation_checkpointing
        for block in self.blocks:
            x = run_block(block, recompute, x, packing)
        hidden: Tensor = self.norm(x)
        return hidden

    def pool(self, hidden: Tensor, packing: Packing) -> Tensor:
        """One vector a text, of its first token. (N, D) -> (B, D)"""
        first = hidden.index_select(0, torch.cumsum(packing.lengths, 0) - packing.lengths)
        return first if self.pooler is None else self.pooler(first).tanh()


class PretrainingHeads(nn.Module):
    """What guesses the hidden tokens, and whether the second segment follows the first."""

    def __init__(self, width: int, embedding: nn.Embedding, epsilon: float = 1e-12) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, epsilon)
        self.output = nn.Linear(width, embedding.num_embeddings)
        self.next = nn.Linear(width, 2)
        initialize(self)
        self.output.weight = embedding.weight

    def guess(self, hidden: Tensor) -> Tensor:
        """Logits of the tokens at some places. (M, D) -> (M, V)"""
        logits: Tensor = self.output(self.norm(nn.functional.gelu(self.transform(hidden))))
        return logits

    def follows(self, pooled: Tensor) -> Tensor:
        """Logits of "the second segment follows" (0) and "it does not" (1). (B, D) -> (B, 2)"""
        logits: Tensor = self.next(pooled)
        return logits


class PretrainedBERT(nn.Module):
    """A BERT with the heads that it is pretrained with."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BERT(config)
        self.heads = PretrainingHeads(config.hidden_size, self.bert.embedding, config.epsilon)

    def forward(self, tokens: Tensor, packing: Packing, segments: Tensor | None = None) -> Tensor:
        """Hidden states of all tokens. (N,) -> (N, D)"""
        hidden: Tensor = self.bert(tokens, packing, segments)
        return hidden


def initialize(module: nn.Module) -> None:
    """Weights from a normal distribution cut off at two deviations, biases 0, norms as they are."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.trunc_normal_(parameter, std=_SPREAD, a=-2 * _SPREAD, b=2 * _SPREAD)
    for part in module.modules():
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
