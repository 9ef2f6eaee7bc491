"""Show, Attend and Tell: an LSTM that looks at another part of the image for every word.

Xu et al. 2015, arXiv 1502.03044. Before each step, attention with the state of the step before it
chooses among the places of the image (soft: their mean; hard: one of them, drawn); a gate beta
says how much of what it found counts; the word depends on the state, on what was found and on the
word before (deep output). The first state is made of the mean of all places.
Without attention (`score: mean`) it is Show and Tell's way to condition on an image (Vinyals et
al. 2015, arXiv 1411.4555), the image being given at every step. The paper's code begins a sentence
with a zero vector, here it is the embedding of <s>; of several attention layers, tanh comes after
all but the one that belongs to the score (in the code, versions differ).
"""

import dataclasses
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.alignment import AlignmentMemory, AttentionOutput, ScoreName
from landmark.layers.cell import LSTMCell
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.models.captioning.captioner import Captioner, CaptionerConfig, Size


@settings
class ShowAttendTellConfig(CaptionerConfig):
    """Configuration of Show, Attend and Tell."""

    architecture: Literal["show-attend-tell"] = "show-attend-tell"
    """Network architecture."""
    embedding_size: Size = 256
    """Dimension of the word embeddings and of the input of the output layer."""
    hidden_size: Size = 512
    """Dimension of the LSTM's state."""
    attention: Literal["soft", "hard"] = "soft"
    """soft: look at the mean of all places, weighted; hard: at one place, drawn in training."""
    score: ScoreName = "additive"
    """Attention score function; mean: no attention, all places alike (Show and Tell)."""
    attention_size: Size | None = None
    """Inner dimension of additive attention; null: that of a place."""
    attention_layers: Annotated[int, Field(ge=1, le=8)] = 1
    """Layers that prepare places for the score, with tanh between them; the last belongs to it."""
    initial_layers: Annotated[int, Field(ge=1, le=8)] = 1
    """Layers between the mean of the places and the first state."""
    gate: bool = True
    """Scale what attention found by a gate, beta."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Dropout probability on embeddings, on the state and before the output layer."""


@dataclasses.dataclass
class CaptionState:
    """What decoding carries: the places, and the LSTM's two states."""

    memory: AlignmentMemory
    hidden: Tensor  # (R, H)
    cell: Tensor  # (R, H)

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""
        self.hidden, self.cell = self.hidden.index_select(0, rows), self.cell.index_select(0, rows)

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these images only; call select_rows to match."""
        self.memory.select(sentences)

    def first(self, count: int) -> "CaptionState":
        """The first so many rows, where each is an image."""
        return CaptionState(self.memory.first(count), self.hidden[:count], self.cell[:count])


class DecoderOutput(NamedTuple):
    """The hidden states of a target's next tokens, and where the network looked for each."""

    hidden: Tensor  # (N, E)
    weights: Tensor  # (B, T, heads, S) zeros after a caption's end
    log_probabilities: Tensor
    """Log-probability of the places drawn for each caption; 0 with soft attention. (B,)"""
    entropy: Tensor
    """Of each caption's distributions over places, summed over its steps. (B,)"""


class ShowAttendTell(Captioner):
    """An image's places in, words out, and for each word where it looked."""

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__()
        self.config = config
        width, narrow = config.hidden_size, config.embedding_size
        places = config.feature_size
        if places is None:
            raise ValueError("model.feature_size is not set")
        self.add_encoder()
        self.add_target(config.vocab_size, narrow, tied=False, bias=True)
        self.dropout = Dropout(config.dropout)
        self.prepare = _layers(places, config.attention_layers - 1)
        self.cross_attention = AttentionOutput(
            config.score, width, places, config.attention_size or places, score_bias=True
        )
        self.before_state = _layers(places, config.initial_layers - 1)
        self.first_hidden = nn.Linear(places, width)
        self.first_cell = nn.Linear(places, width)
        self.gate = nn.Linear(width, 1) if config.gate else None
        self.cell = LSTMCell(narrow + places, width)
        self.cell.register_parameter("bias_hh", None)  # one bias a gate, as published
        self.from_hidden = nn.Linear(width, narrow)
        self.from_context = nn.Linear(places, narrow)

    @property
    def attention_shape(self) -> tuple[int, int]:
        return 1, 1

    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        output = self.decode(source, source_packing, target, target_packing)
        if self.cross_attention.observer is not None:
            self.cross_attention.observer(output.weights.detach().transpose(1, 2))
        return output.hidden

    def decode(
        self, source: Tensor, source_packing: Packing, target: Tensor, packing: Packing
    ) -> DecoderOutput:
        """Step after step, the longest captions first, so that those at their end drop out."""
        state = self.start(source, source_packing, 1, packing.max_length)
        state.select_rows(packing.longest_first)
        state.select_sentences(packing.longest_first)
        embedded = self.dropout(self.target_embedding(target))
        written, looks, log_probabilities, entropies = [], [], [], []
        for step in packing.to_time_major(embedded).split(packing.batch_sizes.tolist()):
            if len(step) < len(state.hidden):
                state = state.first(len(step))
            weights, context, chance = self._look(state)
            written.append(self._advance(step, context, state))
            looks.append(weights)
            log_probabilities.append(chance)
            entropies.append(-(weights.clamp(min=1e-20).log() * weights).sum((1, 2)))
        ranks = packing.ranks
        seen = nn.utils.rnn.pad_sequence(looks)[ranks]  # (B, T, heads, S)
        return DecoderOutput(
            packing.from_time_major(torch.cat(written)),
            seen,
            nn.utils.rnn.pad_sequence(log_probabilities).sum(1)[ranks],
            nn.utils.rnn.pad_sequence(entropies).sum(1)[ranks],
        )

    def start(
        self, source: Tensor, packing: Packing, rows_per_sentence: int, max_length: int
    ) -> CaptionState:
        places = self.places_of(source)  # (M, F)
        grid = packing.unpack(places)  # (B, S, F)
        mean = grid.sum(1) / packing.lengths[:, None]
        for layer in self.before_state:
            mean = torch.relu(layer(mean))
        first = [layer(mean).tanh() for layer in (self.first_hidden, self.first_cell)]
        hidden, cell = (part.repeat_interleave(rows_per_sentence, 0) for part in first)
        prepared = places
        for layer in self.prepare:
            prepared = layer(prepared).tanh()
        memory = self.cross_attention.remember(prepared, packing, values=places)
        return CaptionState(memory, hidden, cell)

    def step(self, tokens: Tensor, state: CaptionState) -> Tensor:
        context = self._look(state)[1]
        embedded = self.dropout(self.target_embedding(tokens))
        return self.logits(self._advance(embedded, context, state))

    def _look(self, state: CaptionState) -> tuple[Tensor, Tensor, Tensor]:
        """Attention with the state of the step before: weights (R, 1, S), what was found (R, F),
        and the log-probability of the places that were drawn (R,)."""
        context, weights = self.cross_attention(state.hidden, state.memory)
        chance = weights.new_zeros(len(weights))
        if self.config.attention == "hard" and self.config.score != "mean":
            context, chance = self._draw(state, context, weights[:, 0])
        if self.gate is not None:
            context = torch.sigmoid(self.gate(state.hidden)) * context  # beta z
        return weights, context, chance

    def _draw(self, state: CaptionState, context: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """One place a row: in training drawn in half of the steps, which else keep the mean (the
        paper's way to a smaller variance); in use the likeliest. weights: (R, S)"""
        zero = weights.new_zeros(len(weights))
        if self.training:
            if torch.rand((), device="cpu") < 0.5:
                return context, zero
            drawn = torch.multinomial(weights.detach(), 1)
        else:
            drawn = weights.argmax(1, keepdim=True)
        places = state.memory.values[:, 0]  # (B, S, F)
        chosen = drawn.reshape(places.shape[0], -1, 1).expand(-1, -1, places.shape[2])  # (B, K, F)
        found = places.gather(1, chosen).flatten(0, 1)  # (R, F)
        return found, weights.gather(1, drawn)[:, 0].clamp(min=1e-20).log()

    def _advance(self, embedded: Tensor, context: Tensor, state: CaptionState) -> Tensor:
        """Move the state one step along; what the output layer reads. -> (R, E)"""
        given = torch.cat((embedded, context), 1)
        state.hidden, state.cell = self.cell(given, (state.hidden, state.cell))
        # Deep output: L_o tanh(E y + L_h h + L_z z).
        deep = self.from_hidden(self.dropout(state.hidden)) + self.from_context(context) + embedded
        output: Tensor = self.dropout(deep.tanh())
        return output


def _layers(size: int, count: int) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(size, size) for _ in range(count))
