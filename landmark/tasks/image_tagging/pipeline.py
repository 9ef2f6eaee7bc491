"""A loaded run of image tagging: images in, words with probabilities or features out, scores."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.captions.corpus import open_split
from landmark.data.captions.source import CaptionedImages
from landmark.data.captions.tags import tag_shares
from landmark.data.images.decoding import Picture, Pixels, check_pictures, read_picture
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.layers.image.folding import fold
from landmark.metrics.tagging import TaggingScores, score_tagging
from landmark.models.vision import build_network, lay_out
from landmark.objectives.tagging import tag_probabilities
from landmark.tasks.card import OpenOptions, Report, Result
from landmark.tasks.image_tagging.run import ImageTaggingRun
from landmark.tasks.training import check_assets

Count = Callable[[int], None]
_TOGETHER = 64  # images read at a time


class TagGuess(NamedTuple):
    """A word, and how probable the network finds it in a caption."""

    name: str
    probability: float


@dataclass(frozen=True)
class Tagged(Result):
    """An image's most probable words, the best first."""

    place: str
    guesses: tuple[TagGuess, ...]

    def json(self) -> dict[str, Any]:
        return {"image": self.place, "words": [guess._asdict() for guess in self.guesses]}

    def lines(self) -> list[str]:
        rows = [f"{100 * guess.probability:7.2f} %  {guess.name}" for guess in self.guesses]
        return [self.place, *rows]


def open_pipeline(
    run: Run, config: ImageTaggingRun, options: OpenOptions, report: Report
) -> "TaggingPipeline":
    """A run on images with captions, ready to tag."""
    check_assets(run)
    return TaggingPipeline(run, config, options.checkpoint, options.device)


class TaggingPipeline:
    """A run's network and words, ready to look at images."""

    def __init__(
        self, run: Run, config: ImageTaggingRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.form = ImageForm.load(run.folder / FILE)
        if len(self.form.names) != config.model.classes:
            raise UserError(
                f"{run.folder / FILE}: names {len(self.form.names)} words, but the network knows "
                f"{config.model.classes}: it does not belong to these weights"
            )
        self.checkpoint = run.find_checkpoint(checkpoint)
        network = build_network(config.model).eval()
        load_module(network, load_player(self.checkpoint, "model"), self.checkpoint)
        self.network = lay_out(fold(network).requires_grad_(False).to(self.device))

    def tag(self, images: Sequence[Picture], top: int = 10) -> list[Tagged]:
        """The most probable words of each image."""
        found = []
        for one in self.look(images, top):
            if isinstance(one, UserError):
                raise one
            found.append(one)
        return found

    def look(self, images: Sequence[Picture], top: int = 10) -> Iterator[Tagged | UserError]:
        """The same one after the other; for an image that cannot be read, why."""
        images = check_pictures(images)
        rows = self._each(images, self._probabilities)
        for image, row in zip(images, rows, strict=True):
            if isinstance(row, UserError):
                yield row
            else:
                place = str(image) if isinstance(image, (str, Path)) else "pixels"
                yield Tagged(place, self._best(row, top))

    def features(self, images: Sequence[Picture]) -> list[NDArray[np.float32] | UserError]:
        """What the last layer reads of each image; for one that cannot be read, why."""
        rows = self._each(check_pictures(images), self._features)
        return [row if isinstance(row, UserError) else row.numpy() for row in rows]

    def read(self, image: Picture) -> Pixels:
        """An image in the form that the network was trained on. (H, W, C)"""
        return read_picture(image, self.form.fitting)

    def _each(
        self, images: Sequence[Picture], function: Callable[[Sequence[Pixels]], Tensor]
    ) -> Iterator[Tensor | UserError]:
        """The row of each image of what a function makes of many, or why it cannot be read."""
        for start in range(0, len(images), _TOGETHER):
            read = [self._attempt(image) for image in images[start : start + _TOGETHER]]
            pixels = [one for one in read if not isinstance(one, UserError)]
            rows = iter(function(pixels) if pixels else ())
            for one in read:
                yield one if isinstance(one, UserError) else next(rows)

    def _attempt(self, image: Picture) -> Pixels | UserError:
        try:
            return self.read(image)
        except UserError as error:
            return error

    def _input(self, pixels: Sequence[Pixels]) -> Tensor:
        given = self.form.network_input(pixels, self.config.model.image_size)
        return given.to(self.device).contiguous(memory_format=torch.channels_last)

    @torch.inference_mode()
    def _features(self, pixels: Sequence[Pixels]) -> Tensor:
        return self.network.features(self._input(pixels)).float().cpu()

    @torch.inference_mode()
    def _probabilities(self, pixels: Sequence[Pixels]) -> Tensor:
        """Of each word. (B, K)"""
        scores = self.network(self._input(pixels))
        found = tag_probabilities(scores, self.config.objective).cpu()
        if not found.isfinite().all():
            raise UserError(f"{self.checkpoint}: the network's output is not finite: use another")
        return found

    def _best(self, probabilities: Tensor, top: int) -> tuple[TagGuess, ...]:
        best = probabilities.topk(min(top, len(probabilities)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return tuple(TagGuess(self.form.names[number], value) for number, value in pairs)

    def evaluate(
        self, given: CaptionedImages, report: Count = lambda count: None
    ) -> tuple[TaggingScores, TaggingScores]:
        """Tag all images of a set and score that; beside it, how frequent words are in training."""
        names, rows = self.form.names, []
        is_true = tag_shares(given.captions, names) > 0
        for start in range(0, len(given), _TOGETHER):
            stop = min(start + _TOGETHER, len(given))
            found = self._probabilities([given.images[index] for index in range(start, stop)])
            rows.append(found.numpy())
            report(stop - start)
        frequencies = np.broadcast_to(self._frequencies, is_true.shape)
        ours = score_tagging(np.concatenate(rows), is_true, names)
        return ours, score_tagging(frequencies, is_true, names)

    @cached_property
    def _frequencies(self) -> NDArray[np.float32]:
        """The mean share of each word in training. (K,)"""
        means: NDArray[np.float32] = tag_shares(self.split("train").captions, self.form.names).mean(
            0
        )
        return means

    def split(self, name: str) -> CaptionedImages:
        """A split of the run's own data."""
        return open_split(self.run.folder, name)

    @property
    def splits(self) -> list[str]:
        """The splits to score where none is named: what training has not seen."""
        return ["test"] if (self.run.folder / "data" / "test").is_dir() else ["valid"]
