"""Batch and layer normalisation written out in plain tensor arithmetic.

Batch normalisation: Ioffe and Szegedy 2015, arXiv 1502.03167. Layer normalisation: Ba et al. 2016,
arXiv 1607.06450. torch's layers compute the same (see tests/examples/test_normalization.py), and
the networks use those.
"""

import torch
from torch import Tensor, nn


def standardise(x: Tensor, dimensions: tuple[int, ...], epsilon: float) -> Tensor:
    """Mean 0 and variance 1 over the given dimensions: what batch and layer norm share."""
    mean = x.mean(dimensions, keepdim=True)
    variance = (x - mean).square().mean(dimensions, keepdim=True)
    return (x - mean) / (variance + epsilon).sqrt()


class BatchNorm(nn.Module):
    """Each channel standardised over the batch and its places, then scaled and shifted.

    In training by the batch's own statistics, which a moving average remembers; afterwards by
    these. A sample's output depends on the others in its batch, but only while training.
    """

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, channels: int, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.epsilon, self.momentum = epsilon, momentum
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_variance", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, ...) -> (B, C, ...)"""
        others = tuple(dimension for dimension in range(x.dim()) if dimension != 1)
        shape = [1, -1] + [1] * (x.dim() - 2)
        if self.training:
            self._remember(x.detach(), others)
            normal = standardise(x, others, self.epsilon)
        else:
            deviation = (self.running_variance + self.epsilon).sqrt()
            normal = (x - self.running_mean.view(shape)) / deviation.view(shape)
        return normal * self.weight.view(shape) + self.bias.view(shape)

    def _remember(self, x: Tensor, others: tuple[int, ...]) -> None:
        variance, mean = torch.var_mean(x, others)  # divided by one less: unbiased
        self.running_mean.lerp_(mean, self.momentum)
        self.running_variance.lerp_(variance, self.momentum)


class LayerNorm(nn.Module):
    """Each sample standardised over its own last dimension: the same in training and after."""

    def __init__(self, size: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)"""
        return standardise(x, (-1,), self.epsilon) * self.weight + self.bias
