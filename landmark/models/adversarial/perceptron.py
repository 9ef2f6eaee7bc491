"""Multilayer perceptrons for points: the first adversarial nets, sized for a line or a plane.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661. A generator may be linear:
of normal noise it makes a normal distribution, so its density is known at every step. The standard
deviation of the batch as one more feature is that of Karras et al. 2017, arXiv 1710.10196, in one
group.
"""

from itertools import pairwise
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings

Size = Annotated[int, Field(ge=1)]


@settings
class PerceptronGanConfig:
    """Configuration of generator and discriminator."""

    architecture: Literal["perceptron"] = "perceptron"
    """Networks: perceptron or linear-generator."""
    hidden_size: Size = 32
    """Width of the hidden layers."""
    num_layers: Size = 2
    """Number of hidden layers, of each network."""
    generator_norm: bool = False
    """Batch normalisation in the generator's hidden layers."""
    batch_std: bool = False
    """Minibatch statistics: give the discriminator the standard deviation of the batch."""


@settings
class LinearGeneratorConfig:
    """Configuration of a generator a + b z on the line, and of its discriminator."""

    architecture: Literal["linear-generator"] = "linear-generator"
    """Networks: perceptron or linear-generator."""
    mean: float = 0.0
    """Initial mean of the generated distribution."""
    std: Annotated[float, Field(gt=0)] = 1.0
    """Initial standard deviation of the generated distribution."""
    hidden_size: Size = 64
    """Width of the discriminator's hidden layers."""
    num_layers: Size = 2
    """Number of the discriminator's hidden layers."""


class Perceptron(nn.Module):
    """Hidden layers with leaky ReLU, and a linear output."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        output_size: int,
        num_layers: int = 2,
        norm: bool = False,
        batch_std: bool = False,
    ) -> None:
        super().__init__()
        self.batch_std = batch_std
        layers: list[nn.Module] = []
        sizes = [input_size + batch_std, *[hidden_size] * num_layers]
        for before, after in pairwise(sizes):
            layers.append(nn.Linear(before, after, bias=not norm))
            if norm:
                layers.append(nn.BatchNorm1d(after))
            layers.append(nn.LeakyReLU(0.2))
        self.layers = nn.Sequential(*layers, nn.Linear(hidden_size, output_size))

    def forward(self, x: Tensor) -> Tensor:
        """(B, D) -> (B, outputs)"""
        if self.batch_std:
            spread = x.std(0, correction=0).mean().expand(len(x), 1)
            x = torch.cat([x, spread], 1)
        mapped: Tensor = self.layers(x)
        return mapped


class LinearGenerator(nn.Module):
    """G(z) = a + b z."""

    def __init__(self, mean: float, std: float) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.tensor([mean]))
        self.std = nn.Parameter(torch.tensor([std]))

    def forward(self, noise: Tensor) -> Tensor:
        """(B, 1) -> (B, 1)"""
        return self.mean + self.std * noise
