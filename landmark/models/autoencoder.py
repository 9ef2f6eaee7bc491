"""A variational autoencoder: a code of a few numbers for an image, and the image from the code.

Kingma and Welling 2013, arXiv 1312.6114, appendix C: a Gaussian encoder and a Bernoulli decoder
with one hidden layer each. As in Kingma and Ba 2014, arXiv 1412.6980, section 6.4: 500 hidden units
with softplus, 50 latent numbers. Weights begin as N(0, 0.01), as the paper says, which is read as
the variance; biases, of which it does not speak, at 0.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from landmark.core.configuration import settings

_INITIAL_DEVIATION = 0.1
Size = Annotated[int, Field(ge=1)]


@settings
class AutoencoderConfig:
    """Configuration of an autoencoder."""

    channels: Size = 1
    """Image channels: 3 for colour, 1 for greyscale."""
    image_size: Size = 28
    """Image height and width in pixels."""
    hidden_size: Size = 500
    """Units in the hidden layer (softplus) of the encoder and of the decoder."""
    latent_size: Size = 50
    """Dimension of the latent space."""


class VariationalAutoencoder(nn.Module):
    """q(z|x), a Gaussian for each image; p(x|z), a Bernoulli for each of its numbers."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        self.config = config
        pixels = config.channels * config.image_size**2
        self.encoder = nn.Linear(pixels, config.hidden_size)
        self.code = nn.Linear(config.hidden_size, 2 * config.latent_size)
        self.decoder = nn.Linear(config.latent_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, pixels)
        for layer in (self.encoder, self.code, self.decoder, self.output):
            nn.init.normal_(layer.weight, std=_INITIAL_DEVIATION)
            nn.init.zeros_(layer.bias)

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of each code. (B, C, H, W) -> (B, Z) each"""
        hidden = functional.softplus(self.encoder(images.flatten(1)))
        mean, log_variance = self.code(hidden).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, codes: Tensor) -> Tensor:
        """Logits of each number of an image. (B, Z) -> (B, C * H * W)"""
        logits: Tensor = self.output(functional.softplus(self.decoder(codes)))
        return logits

    def forward(self, images: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, and mean and log-variance of the codes; noise: (B, Z), standard normal."""
        mean, log_variance = self.encode(images)
        codes = mean + torch.exp(log_variance / 2) * noise  # z = μ + σε
        return self.decode(codes), mean, log_variance
