"""The noise that a generator makes samples of."""

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed

Prior = Literal["normal", "uniform"]


@settings
class NoiseConfig:
    """The generator's input."""

    noise_size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 4
    """Dimension of the generator's noise input."""
    prior: Prior = "normal"
    """Distribution of the noise: standard normal, or uniform between -1 and 1."""


def as_prior(normal: Tensor, prior: Prior) -> Tensor:
    """Noise of a prior, made of standard normal numbers, so that both have the same seeds."""
    return normal if prior == "normal" else torch.erf(normal / 2**0.5)  # 2 Φ(z) - 1


def to_normal(noise: Tensor, prior: Prior) -> Tensor:
    """The standard normal numbers that noise was made of."""
    if prior == "normal":
        return noise
    edge = 1 - torch.finfo(noise.dtype).eps
    return torch.erfinv(noise.clamp(-edge, edge)) * 2**0.5


def draw_noise(config: NoiseConfig, count: int, seed: int) -> Tensor:
    """Noise for so many samples; the same seed gives the same, and more of it goes on. (N, Z)"""
    random = np.random.default_rng(derive_seed(seed, "sample"))
    normal = random.standard_normal((count, config.noise_size), np.float32)
    return as_prior(torch.from_numpy(normal), config.prior)
