"""Sequence to sequence: recurrent encoder and decoder.

Sutskever et al. 2014, arXiv 1409.3215: one vector is all that passes between the two (`score:
last`). Bahdanau et al. 2015, arXiv 1409.0473: the source is read in both directions, and each step
of writing looks at all of it. Luong et al. 2015, arXiv 1508.04025: it looks with the state of the
same step, and what it found is fed into the next (input feeding).
The encoder's two directions share the width, so that a memory is as wide as a state. The decoder
starts from a projection of the encoder's last states; one matrix may serve both embeddings and the
output, as in the Transformer here.
"""

import dataclasses
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.layers.alignment import AlignmentMemory, AttentionOutput, ScoreName
from landmark.layers.cell import CellName, State
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.recurrent import RecurrentStack
from landmark.models.translation import Tied, TranslationModel

Size = Annotated[int, Field(ge=1)]


@settings
class Seq2seqConfig:
    """Configuration of a recurrent encoder-decoder."""

    architecture: Literal["seq2seq"] = "seq2seq"
    """Network architecture."""
    vocab_size: Annotated[int, Field(ge=4, le=limits.VOCABULARY)] | None = None
    """Vocabulary size; null: the tokenizer's."""
    source_vocab_size: Annotated[int, Field(ge=4, le=limits.VOCABULARY)] | None = None
    """Vocabulary size of the source, if it has its own (tokenizer.separate)."""
    cell: CellName = "lstm"
    """Recurrent cell."""
    embedding_size: Size = 256
    """Dimension of the embeddings and of the input of the output layer."""
    hidden_size: Size = 512
    """Dimension of the decoder's state, and of both encoder directions together; even."""
    encoder_layers: Size = 1
    """Number of encoder layers (bidirectional)."""
    decoder_layers: Size = 1
    """Number of decoder layers."""
    score: ScoreName = "additive"
    """Attention score function; last and mean: no attention, the source as a single vector."""
    num_heads: Size = 1
    """Number of attention heads."""
    input_feeding: bool = True
    """Feed the attention's output to the next step; false trains faster."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Dropout probability on embeddings, between layers and before the output layer."""
    tied: Tied = "all"
    """Weights to tie: source embedding, target embedding and output (all), the last two (output),
    or none.
    """
    max_length: Size = 1024
    """Maximum sequence length in tokens, of source and target each."""

    @model_validator(mode="after")
    def _divides(self) -> "Seq2seqConfig":
        if self.hidden_size % 2:
            raise ValueError(f"hidden_size {self.hidden_size} is not even: two directions share it")
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"num_heads {self.num_heads} does not divide hidden_size {self.hidden_size}"
            )
        return self


@dataclasses.dataclass
class Seq2seqState:
    """What decoding carries: the source, the layers' states, and what the last step found."""

    memory: AlignmentMemory
    recurrent: State  # each (layers, R, H)
    found: Tensor  # (R, E)

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""
        self.recurrent = tuple(part.index_select(1, rows) for part in self.recurrent)
        self.found = self.found.index_select(0, rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences only; call select_rows to match."""
        self.memory.select(sentences)

    def first(self, count: int) -> "Seq2seqState":
        """The first so many rows, where each is a sentence."""
        recurrent = tuple(part[:, :count] for part in self.recurrent)
        return Seq2seqState(self.memory.first(count), recurrent, self.found[:count])


class Seq2seq(TranslationModel):
    """A recurrent encoder, and a recurrent decoder that may look back at the source."""

    def __init__(self, config: Seq2seqConfig) -> None:
        super().__init__()
        self.config = config
        width, narrow = config.hidden_size, config.embedding_size
        self.add_vocabulary(
            config.vocab_size, narrow, config.tied, source_size=config.source_vocab_size
        )
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentStack(
            config.cell,
            narrow,
            width // 2,
            config.encoder_layers,
            bidirectional=True,
            dropout=config.dropout,
        )
        self.decoder = RecurrentStack(
            config.cell,
            2 * narrow if config.input_feeding else narrow,
            width,
            config.decoder_layers,
            dropout=config.dropout,
        )
        heads = config.num_heads
        self.cross_attention = AttentionOutput(
            config.score, width, width, width, heads, projected=heads > 1
        )
        self.bridge = nn.Linear(width, config.decoder_layers * width)
        self.combine = nn.Linear(self.cross_attention.context_size + width, narrow)

    @property
    def attention_shape(self) -> tuple[int, int]:
        return 1, self.config.num_heads

    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        state = self._read(source, source_packing, 1)
        embedded = self._embed(self.target_embedding, target)
        if self.config.input_feeding:
            hidden, weights = self._write_stepwise(embedded, target_packing, state)
        else:
            hidden, weights = self._write_at_once(embedded, target_packing, state)
        if self.cross_attention.observer is not None:
            self.cross_attention.observer(weights)
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def start(
        self, source: Tensor, packing: Packing, rows_per_sentence: int, max_length: int
    ) -> Seq2seqState:
        return self._read(source, packing, rows_per_sentence)

    def step(self, tokens: Tensor, state: Seq2seqState) -> Tensor:
        self._advance(self._embed(self.target_embedding, tokens), state)
        return self.logits(self.dropout(state.found))

    def _read(self, source: Tensor, packing: Packing, rows: int) -> Seq2seqState:
        """Encode; the state before the first step, of so many rows a sentence."""
        config = self.config
        memory, last = self.encoder(self._embed(self.source_embedding, source), packing)  # (M, H)
        # The last layer's state after the last token forwards, and after the first backwards.
        ends = [part[-2:].transpose(0, 1).flatten(1) for part in last]  # (B, H)
        if config.score == "last":
            memory = ends[0][packing.rows]
        layers = (packing.batch_size, config.decoder_layers, config.hidden_size)
        begun = [self.bridge(end).tanh().view(layers).transpose(0, 1) for end in ends]
        recurrent = tuple(part.repeat_interleave(rows, 1) for part in begun)  # (L, R, H)
        found = memory.new_zeros(packing.batch_size * rows, config.embedding_size)
        return Seq2seqState(self.cross_attention.remember(memory, packing), recurrent, found)

    def _advance(self, embedded: Tensor, state: Seq2seqState) -> Tensor:
        """Move the state one step along; where it has looked. (R, E) -> (R, heads, S)"""
        if self.config.input_feeding:
            embedded = torch.cat((embedded, state.found), 1)
        hidden, state.recurrent = self.decoder.step(embedded, state.recurrent)
        context, weights = self.cross_attention(hidden, state.memory)
        state.found = self._combined(context, hidden)
        return weights

    def _write_stepwise(
        self, embedded: Tensor, packing: Packing, state: Seq2seqState
    ) -> tuple[Tensor, Tensor]:
        """Step after step, the longest sentences first, so that those at their end drop out."""
        state.select_rows(packing.longest_first)
        state.select_sentences(packing.longest_first)
        sizes = packing.batch_sizes.tolist()
        found, seen = [], []
        for step in packing.to_time_major(embedded).split(sizes):
            if len(step) < len(state.found):
                state = state.first(len(step))
            weights = self._advance(step, state)
            found.append(state.found)
            seen.append(weights.detach())
        looks = nn.utils.rnn.pad_sequence(seen)[packing.ranks]  # (B, T, heads, S)
        return packing.from_time_major(torch.cat(found)), looks.transpose(1, 2)

    def _write_at_once(
        self, embedded: Tensor, packing: Packing, state: Seq2seqState
    ) -> tuple[Tensor, Tensor]:
        """No step waits for what another found: one run of the layers, one look of all tokens."""
        hidden, _ = self.decoder(embedded, packing, state.recurrent)  # (N, H)
        grid = packing.unpack(hidden)  # (B, T, H)
        context, weights = self.cross_attention(grid.flatten(0, 1), state.memory)
        found = self._combined(packing.pack(context.unflatten(0, grid.shape[:2])), hidden)
        return found, weights.detach().unflatten(0, grid.shape[:2]).transpose(1, 2)

    def _combined(self, context: Tensor, hidden: Tensor) -> Tensor:
        """Luong's attentional state: tanh(W [context; state]). -> (R, E)"""
        combined: Tensor = self.combine(torch.cat((context, hidden), 1)).tanh()
        return combined

    def _embed(self, embedding: nn.Embedding, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(embedding(tokens) * self.config.embedding_size**0.5)
        return embedded
