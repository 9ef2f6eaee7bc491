"""Chains of convolutions and parallel branches, the parts of Inception networks."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from landmark.models.convolutional.unit import ConvolutionUnit, Pair

_EPSILON = 1e-3  # Google's batch norms add it to the variance


class Step(NamedTuple):
    """One convolution of a chain; no padding given: what keeps the size at stride 1."""

    outputs: int
    kernel: Pair
    stride: int = 1
    padding: Pair | None = None


class Parallel(nn.Module):
    """Branches that read the same maps; what they make of them stands side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, sum of the branches' C, H', W')"""
        return torch.cat([branch(x) for branch in self.branches], 1)


def chain(inputs: int, *steps: Step | nn.Module, norm: bool = True) -> nn.Sequential:
    """Convolution units one after the other, and whatever else stands between them."""
    parts: list[nn.Module] = []
    for step in steps:
        if isinstance(step, nn.Module):
            parts.append(step)
            continue
        parts.append(ConvolutionUnit(inputs, *step, norm=norm, epsilon=_EPSILON))
        inputs = step.outputs
    return nn.Sequential(*parts)


def average_pool(counts_padding: bool) -> nn.AvgPool2d:
    """3x3 at stride 1: what some branches begin with."""
    return nn.AvgPool2d(3, 1, 1, count_include_pad=counts_padding)
