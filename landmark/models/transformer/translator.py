"""The Transformer: an encoder-decoder that is attention throughout.

Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762. As in the paper: post-norm,
sinusoidal positions, embeddings scaled by sqrt(d), one matrix for both embeddings and the output,
dropout on each sub-layer's output and on the embedded input. Pre-norm adds a last norm to each
stack, as its authors do. Tokens are packed (see layers/packing), so padding is never computed.
"""

import dataclasses
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.layers.attention import check_heads
from landmark.layers.cache import BeamAncestry, KeyValueCache, Memory
from landmark.layers.dropout import Dropout
from landmark.layers.feedforward import ActivationName
from landmark.layers.packing import Packing
from landmark.layers.position import LearnedPosition, SinusoidalPosition
from landmark.layers.transformer import DecoderBlock, EncoderBlock, run_block
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


@dataclasses.dataclass
class DecoderState:
    """What incremental decoding carries: how far it is, and each decoder block's memories."""

    caches: list[KeyValueCache]
    memories: list[Memory]
    ancestry: BeamAncestry | None = None
    """Ancestry of the beams, if a sentence has several."""
    length: int = 0

    def grow(self) -> None:
        """Make room for a step."""
        self.length += 1
        if self.ancestry is not None:
            self.ancestry.grow()

    def select_rows(self, rows: Tensor) -> None:
        """Reorder or drop rows (sentences x beams); a sentence's rows stay together."""
        if self.ancestry is not None:
            self.ancestry.select(rows)
            rows = rows[:: self.ancestry.beams] // self.ancestry.beams
        for cache in self.caches:
            cache.select(rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep the encoder's memory of these sentences only; call select_rows to match."""
        for memory in self.memories:
            memory.select(sentences)


class Translator(TranslationModel):
    """Blocks of attention that read the source, and blocks that write the target."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        width, pre_norm = config.hidden_size, config.norm == "pre"
        block = (width, config.inner_size, config.num_heads, config.dropout, pre_norm)
        self.add_vocabulary(
            config.vocab_size,
            width,
            config.tied,
            bias=config.output_bias,
            source_size=config.source_vocab_size,
        )
        self.position = _position(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(*block, activation=config.activation) for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(*block, activation=config.activation) for _ in range(config.decoder_layers)
        )
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()

    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        memory = self.encode(source, source_packing)
        return self.decode(target, target_packing, memory, source_packing)

    def encode(self, source: Tensor, packing: Packing) -> Tensor:
        """(M,) -> (M, D)"""
        x = self._embed(self.source_embedding, source, packing.positions)
        recompute = self.config.activation_checkpointing
        for block in self.encoder:
            x = run_block(block, recompute, x, packing)
        encoded: Tensor = self.encoder_norm(x)
        return encoded

    def decode(
        self, target: Tensor, packing: Packing, memory: Tensor, memory_packing: Packing
    ) -> Tensor:
        """(N,) and (M, D) -> (N, D)"""
        x = self._embed(self.target_embedding, target, packing.positions)
        recompute = self.config.activation_checkpointing
        for block in self.decoder:
            x = run_block(block, recompute, x, packing, memory, memory_packing)
        decoded: Tensor = self.decoder_norm(x)
        return decoded

    def start(
        self, source: Tensor, packing: Packing, rows_per_sentence: int, max_length: int
    ) -> DecoderState:
        """Encode, and allocate the caches for up to `max_length` steps of decoding."""
        config, memory = self.config, self.encode(source, packing)
        beams, sentences = rows_per_sentence, packing.batch_size
        length = min(max_length, config.max_length)
        ancestry = BeamAncestry(sentences * beams, beams, length, memory) if beams > 1 else None
        heads, head_size = config.num_heads, config.hidden_size // config.num_heads
        memories = [block.cross_attention.remember(memory, packing) for block in self.blocks()]
        return DecoderState(
            [
                KeyValueCache(sentences, heads, length, head_size, memory, ancestry)
                for _ in self.decoder
            ],
            # Laid out once as every step reads them.
            [Memory(m.keys.contiguous(), m.values.contiguous(), m.visible) for m in memories],
            ancestry,
        )

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        positions = torch.full_like(tokens, state.length)
        x = self._embed(self.target_embedding, tokens, positions)
        state.grow()
        for block, cache, memory in zip(self.blocks(), state.caches, state.memories, strict=True):
            x = block.step(x, cache, memory)
        logits = self.logits(self.decoder_norm(x))
        if self.config.suppress_tokens:
            logits[:, list(self.config.suppress_tokens)] = -torch.inf
        return logits

    @property
    def attention_shape(self) -> tuple[int, int]:
        return self.config.decoder_layers, self.config.num_heads

    def blocks(self) -> list[DecoderBlock]:
        return [block for block in self.decoder if isinstance(block, DecoderBlock)]

    def _embed(self, embedding: nn.Embedding, tokens: Tensor, positions: Tensor) -> Tensor:
        scaled = embedding(tokens) * self.config.hidden_size**0.5
        if self.training and self.config.word_dropout:
            left_out = torch.rand(len(tokens), 1, device=tokens.device) < self.config.word_dropout
            scaled = scaled.masked_fill(left_out, 0)  # (N, D)
        embedded: Tensor = self.dropout(scaled + self.position(positions))
        return embedded


def _position(config: TransformerConfig) -> LearnedPosition | SinusoidalPosition:
    if config.positions == "learned":
        return LearnedPosition(config.max_length, config.hidden_size)
    halves = config.positions == "sinusoidal-halves"
    return SinusoidalPosition(config.max_length, config.hidden_size, halves)
