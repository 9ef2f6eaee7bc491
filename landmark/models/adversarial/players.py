"""Both players of a game on images, of whatever architecture."""

import torch
from torch import Tensor, nn

from landmark.models.adversarial.dcgan import DcganConfig, DcganDiscriminator, DcganGenerator
from landmark.models.adversarial.image import ImageDiscriminator, ImageGenerator
from landmark.models.adversarial.maxout import (
    MaxoutDiscriminator,
    MaxoutGanConfig,
    PerceptronGenerator,
)

AnyImageGanConfig = DcganConfig | MaxoutGanConfig
PUBLISHED_NOISE = 100
"""Dimension of the noise in both papers."""


def build_players(
    config: AnyImageGanConfig, noise_size: int, pack: int = 1
) -> tuple[ImageGenerator, ImageDiscriminator]:
    """The generator, and the discriminator of packs of so many images."""
    if isinstance(config, DcganConfig):
        return DcganGenerator(config, noise_size), DcganDiscriminator(config, pack)
    return PerceptronGenerator(config, noise_size), MaxoutDiscriminator(config, pack)


class Players(nn.Module):
    """A generator, and the discriminator that looks at what it makes: to be shown and counted."""

    def __init__(self, config: AnyImageGanConfig) -> None:
        super().__init__()
        self.generator, self.discriminator = build_players(config, PUBLISHED_NOISE)

    def forward(self, noise: Tensor) -> Tensor:
        """(B, Z) -> (B, 1)"""
        judged: Tensor = self.discriminator(self.generator(noise))
        return judged

    def judge_one(self) -> Tensor:
        """One sample's way through both."""
        noise = torch.zeros(1, PUBLISHED_NOISE, device=next(self.parameters()).device)
        return self.eval()(noise)
