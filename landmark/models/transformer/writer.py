"""The writing half of a Transformer: decoder blocks that look at whatever was read.

Vaswani et al. 2017, arXiv 1706.03762. What reads the source is a subclass's: an encoder of tokens
(translator.py), or places of an image (models/captioning/transformer.py).
"""

import dataclasses
from abc import abstractmethod

import torch
from torch import Tensor, nn

from landmark.layers.cache import BeamAncestry, KeyValueCache, Memory
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.position import LearnedPosition, SinusoidalPosition
from landmark.layers.transformer import DecoderBlock, EncoderBlock, run_block
from landmark.models.writer import Writer


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


class TransformerWriter(Writer):
    """Blocks of attention that write a target, looking at what `encode` gives."""

    position: LearnedPosition | SinusoidalPosition
    """Of the target's tokens."""

    def add_blocks(self) -> None:
        """Make the blocks that read and those that write, with the norms after pre-norm ones."""
        shape = self.config
        width, pre_norm = shape.hidden_size, shape.norm == "pre"
        block = (width, shape.inner_size, shape.num_heads, shape.dropout, pre_norm)
        self.dropout = Dropout(shape.dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(*block, activation=shape.activation) for _ in range(shape.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(*block, activation=shape.activation) for _ in range(shape.decoder_layers)
        )
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()

    @abstractmethod
    def embed_source(self, source: Tensor, packing: Packing) -> Tensor:
        """The source as the first block reads it. (M, ...) -> (M, D)"""

    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        memory = self.encode(source, source_packing)
        return self.decode(target, target_packing, memory, source_packing)

    def encode(self, source: Tensor, packing: Packing) -> Tensor:
        """(M, ...) -> (M, D)"""
        x = self.embed_source(source, packing)
        recompute = self.config.activation_checkpointing
        for block in self.encoder:
            x = run_block(block, recompute, x, packing)
        encoded: Tensor = self.encoder_norm(x)
        return encoded

    def decode(
        self, target: Tensor, packing: Packing, memory: Tensor, memory_packing: Packing
    ) -> Tensor:
        """(N,) and (M, D) -> (N, D)"""
        x = self.embed(self.target_embedding, target, packing.positions)
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
        x = self.embed(self.target_embedding, tokens, positions)
        state.grow()
        for block, cache, memory in zip(self.blocks(), state.caches, state.memories, strict=True):
            x = block.step(x, cache, memory)
        return self.logits(self.decoder_norm(x))

    @property
    def attention_shape(self) -> tuple[int, int]:
        return self.config.decoder_layers, self.config.num_heads

    def blocks(self) -> list[DecoderBlock]:
        return [block for block in self.decoder if isinstance(block, DecoderBlock)]

    def embed(self, embedding: nn.Embedding, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens at their positions. (N,) -> (N, D)"""
        scaled = embedding(tokens) * self.config.hidden_size**0.5
        if self.training and self.config.word_dropout:
            left_out = torch.rand(len(tokens), 1, device=tokens.device) < self.config.word_dropout
            scaled = scaled.masked_fill(left_out, 0)  # (N, D)
        embedded: Tensor = self.dropout(scaled + self.position(positions))
        return embedded
