"""A language model's predictions at each position of a text, and the actual tokens."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import RecurrentLanguageModel


@dataclass(frozen=True)
class ActualToken:
    """The token that really came."""

    token: int
    probability: float
    rank: int
    """1: it was the likeliest."""
    surprisal: float
    """In bits: -log2 of the probability."""


@dataclass(frozen=True)
class NextTokenPrediction:
    """What a model expects at a place, the likeliest first."""

    expected: tuple[tuple[int, float], ...]
    """Tokens and their probabilities."""
    arrival: ActualToken | None
    """None where the text has ended."""


@torch.inference_mode()
def predict_next(model: Any, tokens: Tensor, top: int) -> list[NextTokenPrediction]:
    """The `top` likeliest tokens after each token of a text. (T,) -> T predictions"""
    if isinstance(model, RecurrentLanguageModel):
        hidden, _ = model(tokens[None], model.begin(1))
    else:
        hidden = model(tokens, Packing.full(1, len(tokens), tokens.device))
    believed = model.logits(hidden).double().log_softmax(-1).cpu()  # (T, V)
    likeliest = believed.topk(top, -1)
    predictions = []
    for place, (values, numbers) in enumerate(zip(*likeliest, strict=True)):
        expected = tuple(zip(numbers.tolist(), values.exp().tolist(), strict=True))
        arrived = None
        if place + 1 < len(tokens):
            arrived = _arrival(int(tokens[place + 1]), believed[place])
        predictions.append(NextTokenPrediction(expected, arrived))
    return predictions


def _arrival(token: int, believed: Tensor) -> ActualToken:
    gained = float(believed[token])
    better = int((believed > believed[token]).sum())
    return ActualToken(token, math.exp(gained), better + 1, -gained / math.log(2))
