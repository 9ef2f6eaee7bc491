"""Logistic regression on bags of words.

Kingma and Ba 2014, arXiv 1412.6980, section 6.1, with noise as in Wang and Manning 2013, "Fast
dropout training": half of a text's words are dropped. A word's weights are a row of a table, so a
batch has gradients for the rows of its own words alone; `sparse` keeps them in that form.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from landmark.core import limits
from landmark.core.configuration import settings


@settings
class BagOfWordsConfig:
    """Configuration of the logistic regression."""

    vocab_size: Annotated[int, Field(ge=1, le=limits.VOCABULARY)] = 10_000
    """Vocabulary size: the most frequent words."""
    classes: Annotated[int, Field(ge=2)] = 2
    """Number of classes."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Probability of dropping a word of a text in training."""
    sparse: bool = False
    """Sparse gradients, for the words of a batch only; for sgd, momentum, nesterov and adagrad."""


class BagOfWords(nn.Module):
    """A weight for each word and class, added up over a text's words."""

    def __init__(self, config: BagOfWordsConfig) -> None:
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.zeros(config.vocab_size, config.classes))
        self.bias = nn.Parameter(torch.zeros(config.classes))

    def forward(self, words: Tensor, starts: Tensor) -> Tensor:
        """N words of B bags, which begin at `starts` (the last is N) -> (B, K)"""
        share = self.config.dropout if self.training else 0.0
        weights = None
        if share:
            kept = torch.rand(words.shape, device=words.device) >= share
            weights = kept.to(self.weight.dtype) / (1 - share)
        sums = functional.embedding_bag(
            words,
            self.weight,
            starts,
            mode="sum",
            sparse=self.config.sparse,
            per_sample_weights=weights,
            include_last_offset=True,
        )
        return sums + self.bias
