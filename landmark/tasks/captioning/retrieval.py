"""Which of many images is a caption about? The rank of its own by the caption's likelihood."""

from dataclasses import dataclass

import numpy as np
import torch

from landmark.core.runtime import derive_seed
from landmark.data.captions.pairs import collate_captions
from landmark.data.captions.source import CaptionedImages
from landmark.layers.packing import Packing
from landmark.layers.projection import token_losses
from landmark.tasks.captioning.encoding import encode_images
from landmark.tasks.captioning.pipeline import CaptioningPipeline

AMONG = 100
"""Images that each caption is held against, its own among them; all, if there are fewer."""


@dataclass(frozen=True)
class Retrieval:
    """Shares of images whose first caption ranks its own image so high.

    Where images are equally likely, any order of them counts alike: a model that does not look at
    images is as good as chance.
    """

    images: int
    among: int
    first: float
    in_five: float
    in_ten: float

    def lines(self) -> list[str]:
        first, five, ten = (f"{100 * its:.1f} %" for its in (self.first, self.in_five, self.in_ten))
        return [
            f"of {self.among} images, a caption's own is the likeliest in {first}, among the "
            f"first 5 in {five}, among the first 10 in {ten}"
        ]


@torch.inference_mode()
def rank_images(pipeline: CaptioningPipeline, split: CaptionedImages) -> Retrieval:
    """Hold the first caption of each image against groups of images drawn at random."""
    order = np.random.default_rng(derive_seed("retrieval")).permutation(len(split))
    among = min(AMONG, len(split))
    model, side = pipeline.model, pipeline.side
    ends = (pipeline.tokenizer.begin, pipeline.tokenizer.end)
    ranked: list[tuple[int, int]] = []
    for start in range(0, len(split), among):
        end = min(start + among, len(split))
        numbers = order[end - among : end].tolist()  # the last group takes some again to be full
        chosen = _Some(split, numbers)
        places = encode_images(model, chosen, pipeline.form, side, pipeline.device)[:, 0].float()
        rows = places.flatten(0, 1).to(pipeline.device)
        packing = Packing.full(len(numbers), places.shape[1], pipeline.device)
        texts = [split.captions[number][0] for number in numbers]
        limit = pipeline.config.model.max_length - 1
        tokens = [ids[:limit] for ids in pipeline.tokenizer.encode(texts)]
        for own in range(among - (end - start), among):
            caption = tokens[own]
            batch = collate_captions(rows, packing, [caption] * len(numbers), *ends)
            batch = batch.to(pipeline.device)
            hidden = model(rows, batch.source_packing, batch.target, batch.target_packing)
            output = model.output
            losses = token_losses(hidden, output.weight, batch.labels, output.bias)
            totals = losses.view(len(numbers), -1).sum(1)
            better, alike = totals < totals[own], totals == totals[own]
            ranked.append((int(better.sum()), int(alike.sum())))
    above, level = np.array(ranked).T
    shares = [float(((most - above) / level).clip(0, 1).mean()) for most in (1, 5, 10)]
    return Retrieval(len(ranked), among, *shares)


class _Some:
    """Some images of a split."""

    def __init__(self, split: CaptionedImages, numbers: list[int]) -> None:
        self.images, self.numbers = split.images, numbers
        self.labels = np.zeros(len(numbers), np.int64)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.images[self.numbers[index]]

    def place(self, index: int) -> str:
        return self.images.place(self.numbers[index])
