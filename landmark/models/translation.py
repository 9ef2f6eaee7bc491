"""The interface of encoder-decoder models for objectives, decoding and analysis."""

from abc import ABC, abstractmethod
from typing import Any, Literal

from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.layers.packing import Packing

Tied = Literal["all", "output", "none"]


class TranslationModel(nn.Module, ABC):
    """Source tokens and the target so far in; a hidden state for each next target token out."""

    config: Any
    """Its settings; every architecture has vocab_size, max_length and dropout."""
    source_embedding: nn.Embedding
    target_embedding: nn.Embedding
    output: nn.Linear
    """The output layer: hidden state to logits, without bias unless a model has one."""

    def add_vocabulary(
        self,
        size: int | None,
        width: int,
        tied: Tied,
        *,
        bias: bool = False,
        source_size: int | None = None,
    ) -> None:
        """Make both embeddings and the output layer, of one matrix, of two or of three.

        source_size: entries of the source's vocabulary, where it has one of its own.
        """
        if size is None:
            raise UserError("model.vocab_size is not set: give it, or a tokenizer to take it from")
        self.target_embedding = _embedding(size, width)
        if tied == "all" and source_size is not None:
            raise UserError("model.tied=all needs one vocabulary for both sides: output ties two")
        one = self.target_embedding if tied == "all" else _embedding(source_size or size, width)
        self.source_embedding = one
        self.output = nn.Linear(width, size, bias=bias)
        if bias:
            nn.init.zeros_(self.output.bias)
        if tied == "none":
            nn.init.xavier_uniform_(self.output.weight)
        else:
            self.output.weight = self.target_embedding.weight

    @property
    @abstractmethod
    def attention_shape(self) -> tuple[int, int]:
        """How many layers of how many heads look at the source."""

    @abstractmethod
    def forward(
        self, source: Tensor, source_packing: Packing, target: Tensor, target_packing: Packing
    ) -> Tensor:
        """Hidden states of the target's next tokens. source: (M,), target: (N,) -> (N, D)"""

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


def _embedding(vocab_size: int, width: int) -> nn.Embedding:
    """Drawn from N(0, 1/d), so that scaling by sqrt(d) gives unit variance."""
    embedding = nn.Embedding(vocab_size, width)
    nn.init.normal_(embedding.weight, std=width**-0.5)
    return embedding
