"""What networks of Go have in common: planes of a position in, judgements of it out."""

from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings

Count = Annotated[int, Field(ge=1, le=4096)]
NO_PASS = -30.0
"""The logit of a pass, of networks that only know points."""


class GoOutput(NamedTuple):
    """The judgements of B positions of A points, all from the view of the colour to move."""

    policy: Tensor | None = None
    """(B, A + 1) logits of the moves, row by row from the top; a pass is last."""
    value: Tensor | None = None
    """(B,) logit that the colour to move wins; a draw counts half."""
    ownership: Tensor | None = None
    """(B, A) from -1 (the opponent's at the end) to 1."""
    score: Tensor | None = None
    """(B,) points by which the colour to move wins, komi included."""


@settings
class GoNetworkConfig:
    """What every network of Go is told."""

    size: Annotated[int, Field(ge=2, le=19)] = 9
    """Board size."""
    planes: Annotated[int, Field(ge=1, le=1000)] = 48
    """Number of input planes; fixed by model.features."""
    features: str = "board"
    """Input planes: board (stones, liberties, recent moves), alphago (the paper's 48) or
    alphago-value (its 49).
    """

    @property
    def points(self) -> int:
        return self.size * self.size


class GoNetwork(nn.Module, ABC):
    """Judges positions by their planes."""

    config: GoNetworkConfig

    @abstractmethod
    def forward(self, planes: Tensor) -> GoOutput:
        """(B, C, N, N) -> judgements; see GoOutput"""

    def judge_one(self) -> GoOutput:
        """One position's way through, to be counted."""
        size, device = self.config.size, next(self.parameters()).device
        judged: GoOutput = self.eval()(
            torch.zeros(1, self.config.planes, size, size, device=device)
        )
        return judged


def with_pass(points: Tensor) -> Tensor:
    """Logits of points, with a pass that is all but never chosen. (B, A) -> (B, A + 1)"""
    return nn.functional.pad(points, (0, 1), value=NO_PASS)
