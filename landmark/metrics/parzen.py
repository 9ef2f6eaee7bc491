"""The likelihood that a Parzen window of samples gives to data, as the first GAN papers report.

A Gaussian around each sample; its width is chosen on validation data. Theis et al. 2016, "A note on
the evaluation of generative models", arXiv 1511.01844, show how it misleads: the centres of k-means
beat the data itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

WIDTHS = tuple(float(width) for width in np.logspace(-1, 0, 10))
"""Standard deviations to choose from, for pixels between 0 and 1."""
_TOGETHER = 256


@dataclass(frozen=True)
class ParzenScore:
    """Mean log-likelihood in nats, its standard error, and the window's standard deviation."""

    mean: float
    error: float
    width: float


def parzen_score(
    samples: Tensor, valid: Tensor, test: Tensor, widths: Sequence[float] = WIDTHS
) -> ParzenScore:
    """The likelihood of test data by the width that is best on validation data. (N, D) each"""
    best = max(widths, key=lambda width: float(log_density(samples, valid, width).mean()))
    found = log_density(samples, test, best)
    return ParzenScore(float(found.mean()), float(found.std() / math.sqrt(len(found))), best)


def log_density(samples: Tensor, points: Tensor, width: float) -> Tensor:
    """log of the mean over samples of N(x; sample, width^2), of each point x. (M,)"""
    samples, points = samples.double(), points.double()
    constant = math.log(len(samples)) + samples.shape[1] / 2 * math.log(2 * math.pi * width**2)
    squares = samples.square().sum(1)
    found = []
    for block in points.split(_TOGETHER):
        distances = block.square().sum(1, keepdim=True) - 2 * block @ samples.T + squares
        found.append(torch.logsumexp(-distances / (2 * width**2), 1) - constant)
    return torch.cat(found)
