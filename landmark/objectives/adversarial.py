"""The GAN objective: a discriminator and a generator trained against each other.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661, with the generator's
non-saturating loss of its section 3: maximise log D(G(z)).
"""

from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import nn

from landmark.core.turn import Objective, Turn
from landmark.data.batch import PointBatch


class AdversarialObjective(Objective):
    """The discriminator's turn, then the generator's against the updated discriminator."""

    unit = "samples"

    def __init__(self, generator: nn.Module, discriminator: nn.Module) -> None:
        self.generator, self.discriminator = generator, discriminator
        self.players = {"generator": generator, "discriminator": discriminator}

    def turns(self, batch: PointBatch, step: int) -> Iterator[Turn]:
        count = len(batch.points)
        made = self.generator(batch.noise)
        # -log D(x) - log(1 - D(G(z))); the generator gets no gradient from this turn
        real_score, made_score = self.discriminator(batch.points), self.discriminator(made.detach())
        loss = F.softplus(-real_score).sum() + F.softplus(made_score).sum()
        yield Turn("discriminator", loss, count, {"fooled": (made_score > 0).float().sum()})
        # -log D(G(z)), with the discriminator that has just learnt
        yield Turn("generator", F.softplus(-self.discriminator(made)).sum(), count)

    @torch.no_grad()
    def measure(self, batch: PointBatch) -> Mapping[str, tuple[float, float]]:
        """Means of the made points and of their squares, and how far from 1/2 D is on them."""
        count = len(batch.points)
        made = self.generator(batch.noise)
        doubt = torch.sigmoid(self.discriminator(made)) - 0.5
        return {
            "made_mean": (made.sum().item(), count),
            "made_square": (made.square().sum().item(), count),
            "distance_from_half": (doubt.abs().sum().item(), count),
        }
