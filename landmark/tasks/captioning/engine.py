"""The search for captions: images as requests, and what may not be said."""

from collections.abc import Sequence

import torch
from torch import Tensor

from landmark.core.runtime import Precision
from landmark.data.images.decoding import Pixels
from landmark.data.images.form import ImageForm
from landmark.data.tokenizer import PADDING, SPECIAL, SubwordTokenizer
from landmark.layers.packing import Packing
from landmark.models.captioning.captioner import Captioner
from landmark.tasks.searching import SourceRequest, TorchEngine


def torch_engine(
    models: Sequence[Captioner],
    tokenizer: SubwordTokenizer,
    device: torch.device,
    precision: Precision = "fp32",
) -> TorchEngine:
    """The search with these captioners, averaged if there are several."""
    places = models[0].config.places

    def pack(images: Sequence[Tensor]) -> tuple[Tensor, Packing]:
        stacked = torch.stack(list(images)).contiguous(memory_format=torch.channels_last)
        return stacked, Packing.full(len(images), places)

    return TorchEngine(
        models, tokenizer.begin, tokenizer.end, device, precision, pack=pack,
        suppressed=never_said(tokenizer),
    )  # fmt: skip


def never_said(tokenizer: SubwordTokenizer) -> tuple[int, ...]:
    """Tokens that are no words."""
    return (SPECIAL.index(PADDING), tokenizer.begin, tokenizer.unknown)


def image_requests(
    model: Captioner,
    form: ImageForm,
    pixels: Sequence[Pixels],
    max_words: int,
    prefix: Sequence[int] = (),
) -> list[SourceRequest]:
    """A request for the caption of each fitted image."""
    config = model.config
    images = form.network_input(pixels, config.encoder.image_size)
    limit = min(config.max_length - 1, max_words + 1)  # <s> takes a position, too
    return [
        SourceRequest(limit, tuple(prefix), source=image, size=config.places) for image in images
    ]
