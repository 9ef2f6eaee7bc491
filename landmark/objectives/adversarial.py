"""The GAN objective: a discriminator and a generator trained against each other.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661, algorithm 1: k steps of the
discriminator, each on other data and other noise, then one of the generator on fresh noise.
Remedies of later papers, each off by default: one-sided label smoothing (Salimans et al. 2016,
arXiv 1606.03498), unrolling (Metz et al. 2016, arXiv 1611.02163), packing (Lin et al. 2018, PacGAN,
arXiv 1712.04086), the R1 penalty (Mescheder et al. 2018, arXiv 1801.04406), differentiable
augmentation (Zhao et al. 2020, arXiv 2006.10738).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from torch.func import functional_call

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.batch import AdversarialBatch
from landmark.objectives.differentiable_augmentation import Change, augment

Weights = dict[str, Tensor]


@settings
class AdversarialConfig:
    """The game of generator and discriminator."""

    loss: Literal["non-saturating", "minimax"] = "non-saturating"
    """Generator loss: non-saturating (-log D) or minimax (log(1 - D)), the paper's two."""
    discriminator_steps: Annotated[int, Field(ge=1, le=100)] = 1
    """Discriminator updates before each generator update (the paper's k)."""
    generator_steps: Literal[0, 1] = 1
    """Generator updates; 0: train the discriminator against a frozen generator."""
    fresh_noise: bool = True
    """Draw new noise for the generator's update, as algorithm 1; false: reuse the discriminator's,
    as DCGAN's code.
    """
    pack: Annotated[int, Field(ge=1, le=16)] = 1
    """PacGAN: number of samples that the discriminator judges together."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """One-sided label smoothing: real samples are labelled 1 - this."""
    r1: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the R1 gradient penalty on real samples (gamma); 0: off."""
    unrolled_steps: Annotated[int, Field(ge=0, le=50)] = 0
    """Unrolled GAN: discriminator steps that the generator looks ahead; 0: off."""
    unrolled_rate: Annotated[float, Field(gt=0)] = 0.1
    """Unrolled GAN: learning rate of these steps (gradient descent)."""
    augment: tuple[Change, ...] = ()
    """Differentiable augmentation of all images that the discriminator sees, for few pictures:
    color, translation, cutout.
    """


class AdversarialObjective(Objective):
    """The discriminator's turns, then the generator's against the updated discriminator."""

    unit = "samples"
    warns_of_spikes = False

    def __init__(
        self, generator: nn.Module, discriminator: nn.Module, config: AdversarialConfig
    ) -> None:
        self.generator, self.discriminator, self.config = generator, discriminator, config
        self.players = {"generator": generator, "discriminator": discriminator}

    @property
    def loss_includes(self) -> str:
        parts = ["label smoothing"] * bool(self.config.label_smoothing)
        return ", ".join(parts + ["R1 penalty"] * bool(self.config.r1))

    def turns(self, batch: AdversarialBatch, step: int) -> Iterator[Turn]:
        config = self.config
        reuses = config.generator_steps and not config.fresh_noise
        for chunk in batch.chunks(config.discriminator_steps):
            with torch.set_grad_enabled(bool(reuses)):
                made = self.generator(chunk.noise)
            yield self._discriminator_turn(chunk.real, made.detach())
        if config.generator_steps:
            if config.fresh_noise:
                chunk = batch.chunks(config.discriminator_steps)[0]
                noise = chunk.noise if chunk.fresh_noise is None else chunk.fresh_noise
                made = self.generator(noise)
            yield self._generator_turn(chunk.real, made)

    def _discriminator_turn(self, real: Tensor, made: Tensor) -> Turn:
        """-log D(x) - log(1 - D(G(z))); the two go through D apart, for its batch norms."""
        config = self.config
        if config.r1:
            real = real.requires_grad_()
        on_real, on_made = self._judge(real), self._judge(made)
        smooth = config.label_smoothing
        loss = (1 - smooth) * F.softplus(-on_real).sum() + F.softplus(on_made).sum()
        if smooth:
            loss = loss + smooth * F.softplus(on_real).sum()
        if config.r1:  # γ/2 E |∇ D(x)|², of the logits
            (slopes,) = torch.autograd.grad(on_real.sum(), real, create_graph=True)
            loss = loss + config.r1 / 2 * slopes.square().sum() / config.pack
        metrics = {"fooled": (on_made > 0).float().sum(), "right": (on_real > 0).float().sum()}
        return Turn("discriminator", loss, len(on_real), metrics)

    def _generator_turn(self, real: Tensor, made: Tensor) -> Turn:
        """-log D(G(z)) or log(1 - D(G(z))), with the discriminator that has just learnt."""
        weights = self._unrolled(real, made) if self.config.unrolled_steps else None
        scores = self._judge(made, weights)
        saturates = self.config.loss == "minimax"
        loss = -F.softplus(scores) if saturates else F.softplus(-scores)
        return Turn("generator", loss.sum(), len(scores))

    def _judge(self, samples: Tensor, weights: Weights | None = None) -> Tensor:
        """The logit of being real, of each pack of samples. (B, …) -> (B / pack,)"""
        pack = self.config.pack
        if self.config.augment and self.discriminator.training:
            samples = augment(samples, self.config.augment)
        if pack > 1:
            samples = samples[: len(samples) // pack * pack]
            samples = samples.reshape(len(samples) // pack, -1, *samples.shape[2:])
        network = self.discriminator
        logits: Tensor = (
            network(samples) if weights is None else functional_call(network, weights, samples)
        )
        return logits[:, 0]

    def _unrolled(self, real: Tensor, made: Tensor) -> Weights:
        """The discriminator's weights after more steps, as a function of the made samples."""
        weights: Weights = dict(self.discriminator.named_parameters())
        for _ in range(self.config.unrolled_steps):
            on_real, on_made = (self._judge(given, weights) for given in (real, made))
            loss = F.softplus(-on_real).mean() + F.softplus(on_made).mean()
            slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {
                name: weight - self.config.unrolled_rate * slope
                for (name, weight), slope in zip(weights.items(), slopes, strict=True)
            }
        return weights

    @torch.no_grad()
    def measure(self, batch: AdversarialBatch) -> Mapping[str, tuple[float, float]]:
        """The discriminator's loss, and how far from 1/2 it is on made samples."""
        on_real, on_made = self._judge(batch.real), self._judge(self.generator(batch.noise))
        loss = F.softplus(-on_real).sum() + F.softplus(on_made).sum()
        doubt = (torch.sigmoid(on_made) - 0.5).abs()
        return {
            "loss": (loss.item(), len(on_made)),
            "distance_from_half": (doubt.sum().item(), len(on_made)),
        }
