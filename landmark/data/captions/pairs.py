"""Captions as samples: every caption of every image once an epoch, in batches of similar lengths.

A batch holds images, or the places that a frozen network has made of them: then they were computed
once, of each image as it is and mirrored, and a caption draws one of the two.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.data.batch import WritingBatch
from landmark.data.captions.source import CaptionedImages
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.draws import Draws
from landmark.data.images.form import ImageForm
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.data.ordering import Plan, even_batches, like_length_batches
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.translation.pairs import joined
from landmark.layers.packing import Packing


@settings
class CaptionBatchConfig:
    """Batches of captions."""

    size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 64
    """Batch size in captions."""
    pool: Annotated[int, Field(ge=1)] = 50
    """Number of batches of shuffled captions to sort by length together."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""


class CaptionSamples:
    """The captions of a split. Each target is <s> …, each label … </s>.

    `places`: (N, 1 or 2, S, F) of each image, and of its mirror image; None: batches hold images.
    """

    def __init__(
        self,
        split: CaptionedImages,
        tokenizer: SubwordTokenizer,
        form: ImageForm,
        config: CaptionBatchConfig,
        image_size: int,
        max_length: int,
        seed: int = 1,
        augment: AugmentConfig | None = None,
        places: Tensor | None = None,
        num_places: int = 1,
    ) -> None:
        self.config, self.seed, self.trains = config, seed, augment is not None
        self.places, self.num_places = places, num_places
        self.begin, self.end = tokenizer.begin, tokenizer.end
        encoded = tokenizer.encode(list(split.texts()))
        self.captions = [np.array(tokens[: max_length - 1], np.int64) for tokens in encoded]
        self.lengths = np.array([len(tokens) + 1 for tokens in self.captions], np.int64)
        self.image_of = split.pairs[:, 0]
        batches = ImageBatchConfig(size=config.size)
        self.images = ImageSamples(split.images, form, batches, image_size, seed, augment)

    def plan(self, epoch: int) -> Plan:
        """Batches of equally many captions, of similar lengths; in order for validation."""
        count, size = len(self.captions), self.config.size
        if not self.trains:
            return even_batches(count, size, self.seed, epoch, shuffle=False)
        ones = np.ones(count, np.int64)
        pool = self.config.pool
        return like_length_batches(ones, size, pool, self.seed, epoch, True, (self.lengths,))

    def collate(self, epoch: int, samples: Sequence[int]) -> WritingBatch:
        chosen = np.asarray(samples, np.int64)
        packing = Packing.full(len(chosen), self.num_places)
        tokens = [self.captions[sample] for sample in chosen.tolist()]
        return collate_captions(self._source(epoch, chosen), packing, tokens, self.begin, self.end)

    def _source(self, epoch: int, chosen: NDArray[np.int64]) -> Tensor:
        """Images (B, C, H, W), or their places (B * S, F)."""
        images = self.image_of[chosen]
        if self.places is None:
            return self.images.collate(epoch, images.tolist()).images
        views = np.zeros(len(chosen), np.int64)
        if self.trains and self.places.shape[1] > 1:
            draws = Draws(self.seed, epoch, chosen)
            views = draws.integers("mirror", np.ones(len(chosen), np.int64))
        picked = self.places[torch.from_numpy(images), torch.from_numpy(views)]
        return picked.flatten(0, 1).float()


def collate_captions(
    source: Tensor, packing: Packing, captions: Sequence[Sequence[int]], begin: int, end: int
) -> WritingBatch:
    """Sources with the tokens of a caption each, as a writer learns them."""
    lengths = torch.tensor([len(tokens) + 1 for tokens in captions])
    return WritingBatch(
        source=source,
        source_packing=packing,
        target=joined([np.array([begin, *tokens]) for tokens in captions]),
        labels=joined([np.array([*tokens, end]) for tokens in captions]),
        target_packing=Packing(lengths),
    )
