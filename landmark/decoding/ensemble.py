"""Ensembles: the mean of several models' next-token distributions."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from landmark.decoding.speaker import Speaker, SpeakerState


class EnsembleState:
    """The states of all members, kept in step."""

    def __init__(self, members: Sequence[SpeakerState]) -> None:
        self.members = members

    def select_rows(self, rows: Tensor) -> None:
        for member in self.members:
            member.select_rows(rows)

    def select_sentences(self, sentences: Tensor) -> None:
        for member in self.members:
            member.select_sentences(sentences)


class Ensemble:
    """A speaker that averages the probabilities (not their logarithms) of its members."""

    def __init__(self, members: Sequence[Speaker]) -> None:
        self.members = members

    def step(self, tokens: Tensor, state: EnsembleState) -> Tensor:
        """Logarithms of the mean probabilities. (R,) -> (R, V)"""
        each = [
            member.step(tokens, its).log_softmax(-1)
            for member, its in zip(self.members, state.members, strict=True)
        ]
        return torch.stack(each).logsumexp(0) - math.log(len(each))
