"""The evidence lower bound (ELBO) of a variational autoencoder.

Kingma and Welling 2013, arXiv 1312.6114, equation 10, with one code drawn for each image.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from landmark.core.turn import Objective, Turn
from landmark.data.batch import ImageBatch
from landmark.models.autoencoder import VariationalAutoencoder

_VALIDATION_SEED = 0


def reconstruction(logits: Tensor, images: Tensor) -> Tensor:
    """-log p(x|z) of each image, whose numbers from 0 to 1 are probabilities. -> (B,)"""
    losses = functional.binary_cross_entropy_with_logits(
        logits, images.flatten(1), reduction="none"
    )
    return losses.sum(1)


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(q(z|x) || N(0, 1)) of each image. (B, Z) -> (B,)"""
    # 1/2 Σ (σ² + μ² - 1 - log σ²)
    return 0.5 * (log_variance.exp() + mean.square() - 1 - log_variance).sum(1)


class VariationalObjective(Objective):
    """One player; the loss is the negative bound, in nats an image. Labels are not looked at."""

    unit = "images"

    def __init__(self, model: VariationalAutoencoder) -> None:
        self.model = model
        self.players = {"model": model}

    def turns(self, batch: ImageBatch, step: int) -> Iterator[Turn]:
        noise = torch.randn(self._shape(batch), device=batch.images.device)
        wrong, apart = (part.sum() for part in self.parts(batch.images, noise))
        yield Turn(
            "model",
            wrong + apart,
            float(len(batch.labels)),
            {"reconstruction": wrong.detach(), "divergence": apart.detach()},
            again=lambda: torch.stack(self.parts(batch.images, noise)).sum(),
        )

    @torch.no_grad()
    def measure(self, batch: ImageBatch) -> Mapping[str, tuple[float, float]]:
        wrong, apart = (float(part.sum()) for part in self.fixed_parts(batch))
        weight = float(len(batch.labels))
        return {
            "loss": (wrong + apart, weight),
            "reconstruction": (wrong, weight),
            "divergence": (apart, weight),
        }

    @torch.no_grad()
    def fixed_parts(self, batch: ImageBatch) -> tuple[Tensor, Tensor]:
        """Both parts with the same noise each time: what differs is the model. (B,) each"""
        fixed = torch.Generator().manual_seed(_VALIDATION_SEED)
        noise = torch.randn(self._shape(batch), generator=fixed).to(batch.images.device)
        return self.parts(batch.images, noise)

    def parts(self, images: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Both parts of each image's negative bound. (B,) each"""
        logits, mean, log_variance = self.model(images, noise)
        return reconstruction(logits, images), divergence(mean, log_variance)

    def _shape(self, batch: ImageBatch) -> tuple[int, int]:
        return len(batch.labels), self.model.config.latent_size
