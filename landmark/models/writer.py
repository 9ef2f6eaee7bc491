"""The interface of networks that write text about a source: a sentence, an image, a sound.

A source is rows with a packing: tokens of a sentence, places of an image, frames of a recording.
Objectives, searches, scoring and attention maps know a network by this interface alone.
"""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.layers.packing import Packing


class Writer(nn.Module, ABC):
    """A source and the target so far in; a hidden state for each next target token out."""

    config: Any
    """Its settings; every architecture has vocab_size, max_length and dropout."""
    target_embedding: nn.Embedding
    output: nn.Linear
    """The output layer: hidden state to logits."""

    def add_target(self, size: int | None, width: int, *, tied: bool, bias: bool = False) -> None:
        """Make the target's embedding and the output layer, of one matrix or of two."""
        if size is None:
            raise UserError("model.vocab_size is not set: give it, or a tokenizer to take it from")
        self.target_embedding = embedding(size, width)
        self.output = nn.Linear(width, size, bias=bias)
        if bias:
            nn.init.zeros_(self.output.bias)
        if tied:
            self.output.weight = self.target_embedding.weight
        else:
            nn.init.xavier_uniform_(self.output.weight)

    @property
    @abstractmethod
    def attention_shape(self) -> tuple[int, int]:
        """How many layers of how many heads look at the source."""

    @abstractmethod
    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        """Hidden states of the target's next tokens. source: (M, ...), target: (N,) -> (N, D)"""

    @abstractmethod
    def start(
        self, source: Tensor, packing: Packing, rows_per_sentence: int, max_length: int
    ) -> Any:
        """Read the source, and make room for up to `max_length` steps of decoding."""

    @abstractmethod
    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Logits of the token after these, the newest of each row. (R,) -> (R, V)"""

    def logits(self, hidden: Tensor) -> Tensor:
        """(N, D) -> (N, V)"""
        logits: Tensor = self.output(hidden)
        return logits


def embedding(vocab_size: int, width: int) -> nn.Embedding:
    """Drawn from N(0, 1/d), so that scaling by sqrt(d) gives unit variance."""
    made = nn.Embedding(vocab_size, width)
    nn.init.normal_(made.weight, std=width**-0.5)
    return made
