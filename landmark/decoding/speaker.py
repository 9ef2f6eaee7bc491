"""The interface between decoding and a model, and the result of decoding."""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor


class SpeakerState(Protocol):
    """What a model carries from step to step, for R rows (sentences x hypotheses)."""

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences only (their rows are selected apart)."""


class Speaker(Protocol):
    """A model that says one token after another."""

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Logits of the token after these, the newest of each row. (R,) -> (R, V)"""


@dataclass(frozen=True)
class Hypothesis:
    """Something said: its tokens (without <s> and </s>) and scores."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    """Log-probability after the length penalty; the search ranks by it."""
    ended: bool
    """Whether it ends with </s>; otherwise it was truncated at the limit."""


def penalize(length: int, alpha: float) -> float:
    """The length penalty ((5 + |y|) / 6)^alpha that a log-probability is divided by.

    Wu et al. 2016, arXiv 1609.08144, equation 14, as the Transformer paper uses it; |y| counts
    the end token.
    """
    return float(((5 + length) / 6) ** alpha)
