"""The networks of the first GAN paper for MNIST: a multilayer perceptron against maxout units.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661, with the sizes of its
released settings; maxout: Goodfellow et al. 2013, arXiv 1302.4389.
"""

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.adversarial.image import (
    ImageDiscriminator,
    ImageGanConfig,
    ImageGenerator,
    Side,
    Width,
)


@settings
class MaxoutGanConfig(ImageGanConfig):
    """Configuration of the generator and the discriminator of 2014."""

    architecture: Literal["maxout"] = "maxout"
    """Networks: dcgan or maxout."""
    image_size: Side | tuple[Side, Side] = 28
    """Image height and width in pixels: one number, or [height, width]."""
    channels: Literal[1, 3] = 1
    """Image channels: 3 for colour, 1 for greyscale."""
    hidden_size: Width = 1200
    """Width of the generator's two hidden layers."""
    units: Width = 240
    """Maxout units of each of the discriminator's two hidden layers."""
    pieces: Annotated[int, Field(ge=1, le=64)] = 5
    """Linear pieces of a maxout unit."""
    input_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Dropout of the discriminator's input."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Dropout of the discriminator's hidden units."""
    max_norm: Annotated[float, Field(gt=0)] = 1.9365
    """Largest norm of the weights that lead to one of the discriminator's units."""
    generator_range: Annotated[float, Field(gt=0)] = 0.05
    """Initial weights of the generator: uniform between minus this and this."""
    discriminator_range: Annotated[float, Field(gt=0)] = 0.005
    """Initial weights of the discriminator: uniform between minus this and this."""
    low: ClassVar[float] = 0.0


class PerceptronGenerator(ImageGenerator):
    """Two layers of ReLU, and a sigmoid for each pixel."""

    def __init__(self, config: MaxoutGanConfig, noise_size: int) -> None:
        super().__init__()
        self.image = (config.channels, *config.shape)
        width, pixels = config.hidden_size, torch.Size(self.image).numel()
        self.layers = nn.Sequential(
            nn.Linear(noise_size, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, pixels),
            nn.Sigmoid(),
        )
        _begin(self, config.generator_range)

    def forward(self, noise: Tensor) -> Tensor:
        """(B, Z) -> (B, C, H, W) between 0 and 1"""
        pixels: Tensor = self.layers(noise)
        return pixels.view(-1, *self.image)


class Maxout(nn.Module):
    """The largest of several linear functions, for each unit."""

    def __init__(self, inputs: int, units: int, pieces: int) -> None:
        super().__init__()
        self.linear, self.pieces = nn.Linear(inputs, units * pieces), pieces

    def forward(self, x: Tensor) -> Tensor:
        """(B, D) -> (B, units)"""
        return self.linear(x).unflatten(1, (-1, self.pieces)).amax(2)


class MaxoutDiscriminator(ImageDiscriminator):
    """Two layers of maxout units with dropout."""

    def __init__(self, config: MaxoutGanConfig, pack: int = 1) -> None:
        super().__init__()
        pixels = torch.Size((config.channels * pack, *config.shape)).numel()
        units, pieces = config.units, config.pieces
        self.hidden = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(config.input_dropout),
            Maxout(pixels, units, pieces),
            nn.Dropout(config.dropout),
            Maxout(units, units, pieces),
        )
        self.dropout, self.judge = nn.Dropout(config.dropout), nn.Linear(units, 1)
        self.max_norm = config.max_norm
        _begin(self, config.discriminator_range)

    @torch.no_grad()
    def _limit_norms(self) -> None:
        """Scale down the weights of units that an update has made too long."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                norms = module.weight.norm(dim=1, keepdim=True)
                if norms.max() > self.max_norm * (1 + 1e-5):
                    module.weight.mul_((self.max_norm / norms).clamp_max(1))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 1)"""
        if self.training:
            self._limit_norms()
        logits: Tensor = self.judge(self.dropout(self.hidden(images)))
        return logits

    def features(self, images: Tensor) -> Tensor:
        """The second layer's units. (B, C, H, W) -> (B, units)"""
        units: Tensor = self.hidden(images)
        return units


def _begin(network: nn.Module, reach: float) -> None:
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.uniform_(module.weight, -reach, reach)
            nn.init.zeros_(module.bias)
