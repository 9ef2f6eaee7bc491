"""An image classifier opened to look inside: its classes, and an image as it reads it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.images.decoding import Fitting, Pixels, read_image
from landmark.data.images.form import ImageForm, as_tensor, center_crop
from landmark.models.image import ImageNetwork
from landmark.models.transformer.vit import ViT

_OF_THE_RUN = re.compile(r"(train|valid|test):(\d+)")


@dataclass(frozen=True)
class View:
    """An image as a person sees it and as the network does."""

    name: str
    shown: Tensor
    """(C, H, W) of 0 to 1"""
    given: Tensor
    """(1, C, H, W), normalised"""
    label: str | None = None
    """Its class, where that is known."""


class ImageViewer:
    """A run's network and classes, and images as it reads them.

    `pipeline`: what `landmark.load` gives for an image classifier.
    """

    def __init__(self, pipeline: Any) -> None:
        self.pipeline, self.run, self.config = pipeline, pipeline.run, pipeline.config
        self.network: ImageNetwork = pipeline.network
        self.form: ImageForm = pipeline.form
        self.device = pipeline.device

    @property
    def side(self) -> int:
        """Pixels a side that the network reads."""
        side: int = self.config.model.image_size
        return side

    def view(self, image: str) -> View:
        """A file, or an image of the run's own data: `valid:3` is its third of validation."""
        match = _OF_THE_RUN.fullmatch(image)
        if match and not Path(image).exists():
            return self._own(match[1], int(match[2]))
        return self._seen(image, read_image(Path(image), self.form.fitting))

    def any_view(self) -> View:
        """The first image of validation; where a run has no images, the flower."""
        if self.pipeline.has_images:
            return self.view("valid:1")
        return self._seen("flower", read_image(_flower(), self.form.fitting))

    def _own(self, split: str, number: int) -> View:
        images = self.pipeline.split(split)
        if not 1 <= number <= len(images):
            raise UserError(f"{split}:{number}: the run has the images 1 to {len(images):,} there")
        label = self.form.names[int(images.labels[number - 1])]
        return self._seen(f"{split}:{number}", images[number - 1], label)

    def _seen(self, name: str, pixels: Pixels, label: str | None = None) -> View:
        given = self.form.network_input([pixels], self.side)
        return View(name, self.form.restore(given)[0], given.to(self.device), label)

    @torch.inference_mode()
    def believe(self, view: View) -> Tensor:
        """The probability of each class. (K,)"""
        return self.network(view.given)[0].float().softmax(-1).cpu()

    def class_numbers(self, names: Sequence[str], believed: Tensor, count: int) -> list[int]:
        """The classes that are named; without names, so many of the likeliest. believed: (K,)"""
        for name in names:
            if name not in self.form.names:
                raise UserError(f"unknown class {name!r}: {nearest(name, self.form.names)}")
        if names:
            return [self.form.names.index(name) for name in dict.fromkeys(names)]
        likeliest: list[int] = believed.topk(min(count, len(believed))).indices.tolist()
        return likeliest

    def vision_transformer(self) -> ImageNetwork:
        """The network, if it is one."""
        if not isinstance(self.network, ViT):
            run = self.run.folder
            raise UserError(f"{run}: is not a Vision Transformer: see `landmark figure saliency`")
        return self.network


def open_viewer(run: Path, checkpoint: str | None = None, device: str = "auto") -> ImageViewer:
    """Open a trained image classifier."""
    from landmark import load

    pipeline: Any = load(run, checkpoint, device)
    if not isinstance(getattr(pipeline, "network", None), ImageNetwork):
        raise UserError(f"{run}: is not an image classifier, which this figure needs")
    return ImageViewer(pipeline)


def read_picture(path: Path | None, side: int | None = None, channels: int = 3) -> Tensor:
    """A file, or the flower, to look at. (C, H, W) of 0 to 1

    `side`: the middle square of so many pixels.
    """
    fitting = Fitting(side, "crop", channels)
    pixels = read_image(_flower() if path is None else path, fitting)
    if side is not None:
        pixels = center_crop(pixels, side)
    return as_tensor(pixels[None])[0].float() / 255


def _flower() -> Path:
    """The picture that scikit-learn carries."""
    return Path(str(files("sklearn.datasets.images") / "flower.jpg"))
