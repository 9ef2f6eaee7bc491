"""A source read in several ways at once: cut into other subwords, as in training.

Takase et al. 2022, "Single Model Ensemble for Subword Regularized Models in Low-Resource Machine
Translation", arXiv 2203.13528: the next token has the mean of its probabilities after the
tokenizer's own cut and after some that are drawn. The engine averages them as it does those of an
ensemble. Departure: what is drawn depends on the source alone, so a translation is the same every
time.
"""

import dataclasses

import numpy as np

from landmark.core.runtime import derive_seed
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.translation.splitting import SubwordSplitter
from landmark.decoding.request import Request


class Reader:
    """Cuts sources into pieces with the chance that training did; `longest`: a source's limit."""

    def __init__(self, tokenizer: SubwordTokenizer, chance: float, longest: int) -> None:
        self.splitter = SubwordSplitter(tokenizer.merges(), len(tokenizer), chance, longest)

    def read_again(self, request: Request, count: int) -> Request:
        """The request with so many more readings of its source."""
        source, readings = np.array(request.source), []
        for number in range(count):
            random = np.random.default_rng(derive_seed("reading", number, *request.source))
            readings.append(tuple(self.splitter.split(source, random).tolist()))
        return dataclasses.replace(request, readings=tuple(readings))
