"""Real images and noise: what a generator and a discriminator of images learn from."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.data.batch import AdversarialBatch
from landmark.data.images.draws import Draws
from landmark.data.images.form import ImageForm, as_tensor
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.data.images.store import Images
from landmark.data.noise import NoiseConfig, as_prior
from landmark.data.ordering import Plan, even_batches


@settings
class AdversarialImageBatchConfig:
    """Batches of real images, and of noise."""

    size: Annotated[int, Field(ge=2, le=limits.BATCH)] = 64
    """Batch size in images, of each discriminator step."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""
    flip: bool = False
    """Flip half of the images horizontally."""


class AdversarialImages:
    """Images of one split, all of one size: an image always comes with the same noise in an epoch.

    steps: how many batches of images one update takes, one for each step of the discriminator.
    """

    def __init__(
        self,
        images: Images,
        form: ImageForm,
        config: AdversarialImageBatchConfig,
        noise: NoiseConfig,
        seed: int,
        *,
        steps: int = 1,
        shuffle: bool = True,
        strict: bool = False,
    ) -> None:
        self.images = ImageSamples(images, form, ImageBatchConfig(), 1, strict=strict)
        self.form, self.config, self.noise, self.seed = form, config, noise, seed
        self.steps, self.shuffle = steps, shuffle

    def plan(self, epoch: int) -> Plan:
        """Batches that differ by one image at most."""
        count, size = len(self.images.images), self.config.size * self.steps
        return even_batches(count, size, self.seed, epoch, self.shuffle)

    def collate(self, epoch: int, samples: Sequence[int]) -> AdversarialBatch:
        """Images, noise for the discriminator's steps, and other noise for the generator's."""
        found, pixels = self.images.read(np.asarray(samples, np.int64))
        draws = Draws(self.seed, epoch, found)
        stacked = np.stack(pixels)
        if self.config.flip and self.shuffle:
            mirrored = draws.uniform("flip")[:, 0] < 0.5
            stacked[mirrored] = stacked[mirrored, :, ::-1]
        real = self.form.normalise(as_tensor(stacked))
        real = real.contiguous(memory_format=torch.channels_last)
        first, fresh = (self._draw(draws, use) for use in ("noise", "fresh noise"))
        return AdversarialBatch(real=real, noise=first, fresh_noise=fresh)

    def _draw(self, draws: Draws, use: str) -> Tensor:
        normal = draws.normal(use, self.noise.noise_size)
        return as_prior(torch.from_numpy(normal.astype(np.float32)), self.noise.prior)
