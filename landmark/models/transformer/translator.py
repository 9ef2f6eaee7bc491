"""The Transformer: an encoder-decoder that is attention throughout.

Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762. As in the paper: post-norm,
sinusoidal positions, embeddings scaled by sqrt(d), one matrix for both embeddings and the output,
dropout on each sub-layer's output and on the embedded input. Pre-norm adds a last norm to each
stack, as its authors do. Tokens are packed (see layers/packing), so padding is never computed.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.layers.attention import check_heads
from landmark.layers.feedforward import ActivationName
from landmark.layers.packing import Packing
from landmark.layers.position import LearnedPosition, SinusoidalPosition
from landmark.models.transformer.writer import DecoderState, TransformerWriter
from landmark.models.translation import Tied, TranslationModel

Size = Annotated[int, Field(ge=1)]


@settings
class TransformerConfig:
    """Configuration of a Transformer."""

    architecture: Literal["transformer"] = "transformer"
    """Network architecture."""
    vocab_size: Annotated[int, Field(ge=4, le=limits.VOCABULARY)] | None = None
    """Vocabulary size; null: the tokenizer's."""
    source_vocab_size: Annotated[int, Field(ge=4, le=limits.VOCABULARY)] | None = None
    """Vocabulary size of the source, if it has its own (tokenizer.separate)."""
    hidden_size: Size = 512
    """Dimension of the hidden states (d_model)."""
    inner_size: Size = 2048
    """Dimension of the feed-forward layers (d_ff)."""
    num_heads: Size = 8
    """Number of attention heads; must divide hidden_size."""
    encoder_layers: Size = 6
    """Number of encoder layers."""
    decoder_layers: Size = 6
    """Number of decoder layers."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout probability after the embedding and each sub-layer."""
    word_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Word dropout: probability of dropping a token's whole embedding, on both sides."""
    norm: Literal["post", "pre"] = "post"
    """post: layer norm after each residual connection (the paper's); pre: before each sub-layer."""
    activation: ActivationName = "relu"
    """Activation of the feed-forward layers."""
    positions: Literal["sinusoidal", "sinusoidal-halves", "learned"] = "sinusoidal"
    """Position embeddings; sinusoidal-halves puts all sines before all cosines (Marian)."""
    tied: Tied = "all"
    """Weights to tie: source embedding, target embedding and output (all), the last two (output),
    or none.
    """
    output_bias: bool = False
    """Add a bias to the output layer (Marian)."""
    suppress_tokens: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Token ids that are never generated, such as padding."""
    max_length: Size = 1024
    """Maximum sequence length in tokens, of source and target each."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory, at about a third more compute."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "TransformerConfig":
        check_heads(self.num_heads, self.hidden_size)
        return self


VARIANTS = {
    "tiny": TransformerConfig(
        hidden_size=128,
        inner_size=256,
        num_heads=4,
        encoder_layers=4,
        decoder_layers=4,
        dropout=0.3,
    ),
    "small": TransformerConfig(
        hidden_size=256, inner_size=1024, num_heads=4, encoder_layers=3, decoder_layers=3
    ),
    "base": TransformerConfig(),
    "big": TransformerConfig(hidden_size=1024, inner_size=4096, num_heads=16, dropout=0.3),
}


class Translator(TransformerWriter, TranslationModel):
    """Blocks of attention that read the source, and blocks that write the target."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.add_vocabulary(
            config.vocab_size,
            config.hidden_size,
            config.tied,
            bias=config.output_bias,
            source_size=config.source_vocab_size,
        )
        self.position = _position(config)
        self.add_blocks()

    def embed_source(self, source: Tensor, packing: Packing) -> Tensor:
        return self.embed(self.source_embedding, source, packing.positions)

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        logits = super().step(tokens, state)
        if self.config.suppress_tokens:
            logits[:, list(self.config.suppress_tokens)] = -torch.inf
        return logits


def _position(config: TransformerConfig) -> LearnedPosition | SinusoidalPosition:
    if config.positions == "learned":
        return LearnedPosition(config.max_length, config.hidden_size)
    halves = config.positions == "sinusoidal-halves"
    return SinusoidalPosition(config.max_length, config.hidden_size, halves)
