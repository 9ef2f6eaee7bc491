"""Dropout with cheap random bits: on a CPU, drawing the mask is a sixth of a small model's step.

Srivastava et al. 2014. The same as nn.Dropout in distribution; on a CPU one 64-bit draw decides
four activations, so the probability is rounded to 1/65536.
"""

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zero a share of the activations in training and scale up the rest."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return x
        if x.device.type != "cpu":
            return nn.functional.dropout(x, self.probability)
        return x * keep_mask(x, self.probability)

    def extra_repr(self) -> str:
        return f"probability={self.probability}"


def keep_mask(x: Tensor, probability: float) -> Tensor:
    """0 with the given probability, else 1 / (1 - it): shaped and typed as x."""
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    sixteen_bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    threshold = min(round(probability * _LEVELS), _LEVELS - 1)
    # Compared straight into numbers: booleans would cost twice as much to make and convert.
    kept = torch.ge(sixteen_bits, threshold - _LEVELS // 2, out=torch.empty_like(x))
    return kept.mul_(_LEVELS / (_LEVELS - threshold))
