"""Images as samples: shuffled batches of one size, varied for training, normalised."""

import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.batch import ImageBatch
from landmark.data.images.augment import AugmentConfig, cut_at_random, cut_out, vary
from landmark.data.images.decoding import BrokenImageError, Pixels
from landmark.data.images.draws import Draws
from landmark.data.images.form import ImageForm, as_tensor, middle
from landmark.data.images.store import Images
from landmark.data.ordering import Plan, even_batches


@settings
class ImageBatchConfig:
    """How images are put together for one update."""

    size: Annotated[int, Field(ge=1)] = 128
    """Images an update."""
    workers: Annotated[int, Field(ge=0)] = 0
    """Extra processes that prepare batches."""


class ImageSamples:
    """The images of one split as a network of that image size reads them.

    With `augment` they are varied (training); without, they are cut in the middle, and stay in
    order. `images` of a batch lie channels-last in memory.
    """

    def __init__(
        self,
        images: Images,
        form: ImageForm,
        config: ImageBatchConfig,
        image_size: int,
        seed: int = 1,
        augment: AugmentConfig | None = None,
        strict: bool = False,
    ) -> None:
        if not len(images):
            raise UserError("there are no images in this split")
        if int(images.labels.max()) >= len(form.names):
            where = int(images.labels.argmax())
            raise UserError(
                f"{images.place(where)}: its class is number {images.labels[where]}, but the "
                f"network tells {len(form.names)} apart (0 to {len(form.names) - 1})"
            )
        if augment:
            augment.check(form.channels)
        self.images, self.form, self.config = images, form, config
        self.image_size, self.seed, self.augment, self.strict = image_size, seed, augment, strict
        # Of each image, whether it was named as broken; shared, as workers come and go.
        self._is_named = torch.zeros(len(images), dtype=torch.bool).share_memory_()
        self.colours = np.array(form.colours or np.zeros((0, form.channels)))

    def plan(self, epoch: int) -> Plan:
        """Shuffled for training, else in order; batches differ by one image at most.

        A last batch of what is left could be of one image, which batch norm cannot learn from.
        """
        shuffle = self.augment is not None
        return even_batches(len(self.images), self.config.size, self.seed, epoch, shuffle)

    def collate(self, epoch: int, samples: Sequence[int]) -> ImageBatch:
        chosen, pixels = self._read(np.asarray(samples, np.int64))
        if self.augment is None:
            cropped = np.stack([middle(image, self.image_size) for image in pixels])
            images = self.form.normalise(as_tensor(cropped))
            return ImageBatch(images=images, labels=self._labels(chosen))
        images = self._varied(pixels, Draws(self.seed, epoch, chosen))
        if not self.augment.mixup:
            return ImageBatch(images=images, labels=self._labels(chosen))
        return self._mixed(epoch, chosen, images)

    def _varied(self, pixels: list[Pixels], draws: Draws) -> Tensor:
        """(B, C, H, W)"""
        assert self.augment
        cropped = as_tensor(cut_at_random(pixels, self.augment, self.image_size, draws))
        if self.augment.changes_values:
            images = vary(cropped.float() / 255, self.augment, draws, self.colours)
            images = self.form.normalise(images)
        else:
            images = self.form.normalise(cropped)
        if self.augment.cutout:
            images = cut_out(images, self.augment.cutout, draws)
        return images.contiguous(memory_format=torch.channels_last)

    def _mixed(self, epoch: int, samples: NDArray[np.int64], images: Tensor) -> ImageBatch:
        """Each image with another of the split, which does not depend on who else is here."""
        assert self.augment
        draws = Draws(self.seed, epoch, samples)
        partners = draws.integers("partner", np.full(len(samples), len(self.images) - 1))
        found, pixels = self._read(partners, instead=samples)
        others = self._varied(pixels, Draws(self.seed, epoch + _APART, samples))
        shares = torch.from_numpy(draws.beta("mixup", self.augment.mixup).astype(np.float32))
        return ImageBatch(
            images=torch.lerp(others, images, shares.view(-1, 1, 1, 1)),
            labels=self._labels(samples),
            partners=self._labels(found),
            shares=shares,
        )

    def _labels(self, samples: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.images.labels[samples])

    def _read(
        self, samples: NDArray[np.int64], instead: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], list[Pixels]]:
        """The images that can be read; of the others, those to take `instead`."""
        found, pixels = [], []
        for position, sample in enumerate(samples.tolist()):
            try:
                pixels.append(self.images[sample])
                found.append(sample)
            except BrokenImageError as error:
                if self.strict:
                    raise
                if not self._is_named[sample]:  # once, not once an epoch
                    print(f"warning: {error}: left out", file=sys.stderr, flush=True)
                    self._is_named[sample] = True
                if instead is not None:
                    pixels.append(self.images[int(instead[position])])
                    found.append(int(instead[position]))
        if not pixels:
            raise UserError(f"{self.images.place(int(samples[0]))}: no image here can be read")
        return np.asarray(found, np.int64), pixels


_APART = 1 << 32  # epochs later: the draws of an image that is mixed into another
