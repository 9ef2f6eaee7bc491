"""The multilayer perceptrons of the first adversarial nets, sized for a line.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661.
"""

from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings


@settings
class GanConfig:
    """Configuration of generator and discriminator."""

    hidden_size: Annotated[int, Field(ge=1)] = 32
    """Width of the two hidden layers."""


class Perceptron(nn.Module):
    """Two hidden layers with leaky rectifiers; linear output."""

    def __init__(self, input_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(input_size, hidden_size),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden_size, hidden_size),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden_size, output_size),
        )

    def forward(self, x: Tensor) -> Tensor:
        mapped: Tensor = self.layers(x)
        return mapped
