"""The interface of encoder-decoder models of text: writers whose source is tokens, too."""

from typing import Literal

from torch import nn

from landmark.core.errors import UserError
from landmark.models.writer import Writer, embedding

Tied = Literal["all", "output", "none"]


class TranslationModel(Writer):
    """Source tokens and the target so far in; a hidden state for each next target token out."""

    source_embedding: nn.Embedding

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
        if tied == "all" and source_size is not None:
            raise UserError("model.tied=all needs one vocabulary for both sides: output ties two")
        self.add_target(size, width, tied=tied != "none", bias=bias)
        own = self.target_embedding
        if tied != "all":
            own = embedding(source_size or own.num_embeddings, width)
        self.source_embedding = own
