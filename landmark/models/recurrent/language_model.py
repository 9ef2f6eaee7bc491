"""The recurrent language model: what comes next, from a state that has read all before.

Elman 1990, "Finding Structure in Time"; Mikolov et al. 2010, "Recurrent neural network based
language model"; on characters Sutskever et al. 2011 and Graves 2013, arXiv 1308.0850. Dropout as in
Zaremba et al. 2014, arXiv 1409.2329, on the way up and never in time; departing from them, not on
the embedding, which for characters is small. The output has no bias.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.layers.cell import CellName, State
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.recurrent import RecurrentStack

Size = Annotated[int, Field(ge=1)]
_PIECE = 512  # tokens of a prompt read at a time: memory does not grow with its length


@settings
class RecurrentLanguageModelConfig:
    """Configuration of a recurrent language model."""

    architecture: Literal["recurrent"] = "recurrent"
    """Network architecture."""
    cell: CellName = "lstm"
    """Recurrent cell: rnn, rnn-relu, lstm, lstm-peephole or gru."""
    vocab_size: Size | None = None
    """Vocabulary size; null: the tokenizer's."""
    embedding_size: Size = 128
    """Dimension of the token embeddings."""
    hidden_size: Size = 512
    """Dimension of each layer's hidden state."""
    num_layers: Size = 2
    """Number of recurrent layers."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout probability after each layer (not on the recurrent connections)."""
    tied: bool = False
    """Tie the weights of embedding and output layer; needs embedding_size = hidden_size."""
    forget_bias: float = 1.0
    """LSTM: initial bias of the forget gate."""

    @model_validator(mode="after")
    def _tied_are_equally_wide(self) -> "RecurrentLanguageModelConfig":
        if self.tied and self.embedding_size != self.hidden_size:
            raise ValueError(
                f"tied, but embedding_size is {self.embedding_size} and hidden_size "
                f"{self.hidden_size}: make them equal"
            )
        return self


class RecurrentState:
    """What speaking carries: each layer's state, for R rows."""

    def __init__(self, tensors: State) -> None:
        self.tensors = tensors  # each (L, R, H)

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""
        self.tensors = tuple(tensor.index_select(1, rows) for tensor in self.tensors)

    def select_sentences(self, sentences: Tensor) -> None:
        """There is nothing but rows."""


class RecurrentLanguageModel(nn.Module):
    """Tokens and the state before them in; a hidden state for each next token out."""

    def __init__(self, config: RecurrentLanguageModelConfig) -> None:
        super().__init__()
        if config.vocab_size is None:
            raise UserError("model.vocab_size is not set: give it, or a tokenizer to take it from")
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.recurrent = RecurrentStack(
            config.cell,
            config.embedding_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
            forget_bias=config.forget_bias,
        )
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tied:
            nn.init.normal_(self.embedding.weight, std=config.hidden_size**-0.5)
            self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Hidden states of the next tokens, and the state after all. (B, T) -> (B * T, D)"""
        rows, length = tokens.shape
        packing = Packing.full(rows, length, tokens.device)
        hidden, after = self.recurrent(self.embedding(tokens.flatten()), packing, state)
        return self.dropout(hidden), after

    def logits(self, hidden: Tensor) -> Tensor:
        """(N, D) -> (N, V)"""
        logits: Tensor = self.output(hidden)
        return logits

    def begin(self, rows: int) -> State:
        """The state before any token: zeros. Each (L, rows, H)"""
        state: State = self.recurrent.begin(rows, self.output.weight)
        return state

    def start(self, tokens: Tensor, packing: Packing, room: int) -> tuple[Tensor, RecurrentState]:
        """Read R beginnings of at least a token; logits of what comes next, and the state there.

        `room` is for models that look back: a state is as large after any text. (N,) -> (R, V)
        """
        state = self.begin(packing.batch_size)
        for first in range(0, packing.max_length, _PIECE):
            piece = Packing((packing.lengths - first).clamp(0, _PIECE))
            inside = (packing.positions >= first) & (packing.positions < first + _PIECE)
            _, state = self.recurrent(self.embedding(tokens[inside]), piece, state)
        last = state[0][-1]  # the top layer's, which is its output too
        return self.logits(self.dropout(last)), RecurrentState(state)

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Logits of the token after these; the state moves on. (R,) -> (R, V)"""
        hidden, state.tensors = self.recurrent.step(self.embedding(tokens), state.tensors)
        return self.logits(self.dropout(hidden))
