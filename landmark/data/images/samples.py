"""Images as samples: shuffled batches of one size, varied for training, normalised."""

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.batch import ImageBatch
from landmark.data.images.augment import AugmentConfig, cut_at_random, cut_out, mix_boxes, vary
from landmark.data.images.decoding import BrokenImageError, Pixels
from landmark.data.images.draws import Draws
from landmark.data.images.form import ImageForm, as_tensor, center_crop
from landmark.data.images.randaugment import randaugment
from landmark.data.images.store import Images
from landmark.data.ordering import Plan, balanced_order, even_batches


@settings
class ImageBatchConfig:
    """Batches of images."""

    size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 128
    """Batch size in images."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""
    balanced: bool = False
    """Balanced sampling: draw every class equally often, repeating the images of rare classes."""


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
        self.balances = config.balanced and augment is not None
        self.colours = np.array(form.colours or np.zeros((0, form.channels)))

    def plan(self, epoch: int) -> Plan:
        """Shuffled for training, else in order; batches differ by one image at most.

        A last batch of what is left could be of one image, which batch norm cannot learn from.
        Balanced, an image that comes again has its number plus that of all images: it is varied
        anew.
        """
        shuffle, count = self.augment is not None, len(self.images)
        plan = even_batches(count, self.config.size, self.seed, epoch, shuffle)
        if not self.balances:
            return plan
        order = balanced_order(self.images.labels, self.seed, epoch)
        return [order[batch] for batch in plan]

    def collate(self, epoch: int, samples: Sequence[int] | NDArray[np.int64]) -> ImageBatch:
        chosen, pixels = self.read(np.asarray(samples, np.int64))
        if self.augment is None:
            cropped = np.stack([center_crop(image, self.image_size) for image in pixels])
            images = self.form.normalise(as_tensor(cropped))
            return ImageBatch(images=images, labels=self._labels(chosen))
        images = self._varied(pixels, Draws(self.seed, epoch, chosen))
        if not self.augment.mixes:
            return ImageBatch(images=images, labels=self._labels(chosen))
        return self._mixed(epoch, chosen, images)

    def _varied(self, pixels: list[Pixels], draws: Draws) -> Tensor:
        """(B, C, H, W)"""
        assert self.augment
        size, interpolation = self.image_size, self.form.interpolation
        squares = cut_at_random(pixels, self.augment, size, draws, interpolation)
        if self.augment.randaugment:
            squares = randaugment(squares, *self.augment.randaugment, draws)
        cropped = as_tensor(squares)
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
        partners = self._partners(draws)
        found, pixels = self.read(partners, instead=samples)
        others = self._varied(pixels, Draws(self.seed, epoch + _APART, samples))
        mixed, shares = self._mix(images, others, draws)
        return ImageBatch(
            images=mixed,
            labels=self._labels(samples),
            partners=self._labels(found),
            shares=shares,
        )

    def _mix(self, images: Tensor, others: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """Mixup, CutMix, or for each image one of the two; and the shares that are its own."""
        assert self.augment
        mixup, cutmix = self.augment.mixup, self.augment.cutmix
        if mixup:
            drawn = draws.beta("mixup", mixup)
            shares = torch.from_numpy(drawn.astype(np.float32))
            blended = torch.lerp(others, images, shares.view(-1, 1, 1, 1))
            if not cutmix:
                return blended, shares
        pasted, areas = mix_boxes(images, others, cutmix, draws)
        own = torch.from_numpy(areas.astype(np.float32))
        if not mixup:
            return pasted, own
        pastes = torch.from_numpy(draws.uniform("mix")[:, 0] < 0.5)
        return (
            torch.where(pastes.view(-1, 1, 1, 1), pasted, blended),
            torch.where(pastes, own, shares),
        )

    def _partners(self, draws: Draws) -> NDArray[np.int64]:
        """An image of the split for each to be mixed with; balanced: first its class is drawn."""
        count = len(draws.samples)
        if not self.balances:
            return draws.integers("partner", np.full(count, len(self.images) - 1))
        by_class, starts, sizes = self._by_class
        chosen = draws.integers("partner class", np.full(count, len(sizes) - 1))
        within = draws.integers("partner", sizes[chosen] - 1)
        partners: NDArray[np.int64] = by_class[starts[chosen] + within]
        return partners

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], ...]:
        """Images in order of their classes; where each class begins there, and its size."""
        labels = self.images.labels
        _, starts, sizes = np.unique(np.sort(labels), return_index=True, return_counts=True)
        return np.argsort(labels, kind="stable"), starts, sizes

    def _labels(self, samples: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.images.labels[samples % len(self.images)])

    def read(
        self, samples: NDArray[np.int64], instead: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], list[Pixels]]:
        """The images that can be read; of the others, those to take `instead`."""
        found, pixels = [], []
        for position, number in enumerate(samples.tolist()):
            sample = number % len(self.images)
            try:
                pixels.append(self.images[sample])
                found.append(number)
            except BrokenImageError as error:
                if self.strict:
                    raise
                if not self._is_named[sample]:  # once, not once an epoch
                    print(f"warning: {error}: skipped", file=sys.stderr, flush=True)
                    self._is_named[sample] = True
                if instead is not None:
                    pixels.append(self.images[int(instead[position]) % len(self.images)])
                    found.append(int(instead[position]))
        if not pixels:
            first = self.images.place(int(samples[0]) % len(self.images))
            raise UserError(f"{first}: none of the images can be read")
        return np.asarray(found, np.int64), pixels


_APART = 1 << 32  # epochs later: the draws of an image that is mixed into another
