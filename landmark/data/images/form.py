"""Image metadata of a run: class names, image format, colour statistics.

It is all that using a trained network needs beside the weights; `classes.json` in a run folder.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import PositiveInt, TypeAdapter
from torch import Tensor

from landmark.core.errors import DamagedError
from landmark.core.storage import read_signed_as, signed, write_durably
from landmark.data.images.decoding import Fit, Fitting, Interpolation, Pixels, Size

FILE = "classes.json"
_REMEDY = "put the run's own back"


@dataclasses.dataclass
class _Written:
    """What the file says: the standard deviation has the key that existing runs have."""

    names: tuple[str, ...]
    channels: Literal[1, 3]
    size: PositiveInt | tuple[PositiveInt, PositiveInt] | None
    fit: Fit
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    colours: tuple[tuple[float, ...], ...]
    interpolation: Interpolation = "bilinear"


@dataclasses.dataclass(frozen=True)
class ImageForm:
    """The classes of a run, and how its images become numbers."""

    names: tuple[str, ...]
    channels: int = 3
    size: Size | None = None
    fit: Fit = "crop"
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)
    """Standard deviation of the training pixels (0 to 1) per channel; default: ImageNet's."""
    colours: tuple[tuple[float, ...], ...] = ()
    """Principal components of the training colours, each scaled by its standard deviation."""
    interpolation: Interpolation = "bilinear"

    @classmethod
    def load(cls, path: Path) -> "ImageForm":
        """What `save` wrote."""
        written = read_signed_as(TypeAdapter(_Written), path, _REMEDY)
        channels = {written.channels, len(written.mean), len(written.deviation)}
        if len(channels) > 1 or min(written.deviation) <= 0:
            raise DamagedError(f"{path}: damaged (its channels do not fit): {_REMEDY}")
        values = {key: its for key, its in vars(written).items() if key != "deviation"}
        return cls(std=written.deviation, **values)

    def save(self, path: Path) -> None:
        write_durably(path, self.content())

    def content(self) -> bytes:
        """The content of its file."""
        body = dataclasses.asdict(self)
        body["deviation"] = body.pop("std")  # the key that existing runs have
        return signed(body)

    @property
    def fitting(self) -> Fitting:
        """How an image is read."""
        return Fitting(self.size, self.fit, self.channels, self.interpolation)

    def normalise(self, images: Tensor) -> Tensor:
        """Each channel with mean 0 and standard deviation 1. (B, C, H, W) of bytes or of 0 to 1"""
        scale = 255.0 if images.dtype == torch.uint8 else 1.0
        mean = torch.tensor(self.mean).view(-1, 1, 1)
        std = torch.tensor(self.std).view(-1, 1, 1)
        return torch.addcmul(-mean / std, images.float(), 1 / (std * scale))

    def restore(self, images: Tensor) -> Tensor:
        """Between 0 and 1 again, to be looked at. (B, C, H, W)"""
        mean = torch.tensor(self.mean).view(-1, 1, 1)
        std = torch.tensor(self.std).view(-1, 1, 1)
        return (images * std + mean).clamp(0, 1)

    def network_input(self, images: Sequence[Pixels], side: int) -> Tensor:
        """The centre crops of fitted images as a network reads them. (B, C, side, side)"""
        return self.normalise(as_tensor(np.stack([center_crop(image, side) for image in images])))

    def ten_crops(self, images: Sequence[Pixels], side: int) -> Tensor:
        """The four corners and the centre, and their flips (Krizhevsky). (B * 10, C, side, side)"""
        found = [crop for image in images for crop in _corners(image, side)]
        return self.normalise(as_tensor(np.stack([c for f in found for c in (f, f[:, ::-1])])))


def as_tensor(images: Pixels) -> Tensor:
    """(B, H, W, C) -> (B, C, H, W), without moving anything: channels stay last in memory."""
    return torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2)


def center_crop(image: Pixels, side: int) -> Pixels:
    """The centre crop of an image, padded with black if the image is smaller. -> (side, side, C)"""
    height, width, _ = image.shape
    return cut(image, center_crop_start(height, side), center_crop_start(width, side), side)


def center_crop_start(length: int, side: int) -> int:
    """Start of the centre crop along one axis; rounded as in torchvision."""
    return round((length - side) / 2) if length >= side else -((side - length) // 2)


def cut(image: Pixels, top: int, left: int, side: int) -> Pixels:
    """A square of an image from (top, left) on; black where it reaches beyond."""
    height, width, channels = image.shape
    if top >= 0 and left >= 0 and top + side <= height and left + side <= width:
        return image[top : top + side, left : left + side]
    result = np.zeros((side, side, channels), np.uint8)
    inside = image[max(top, 0) : top + side, max(left, 0) : left + side]
    below, right = max(-top, 0), max(-left, 0)
    result[below : below + inside.shape[0], right : right + inside.shape[1]] = inside
    return result


def _corners(image: Pixels, side: int) -> list[Pixels]:
    height, width, _ = image.shape
    tops, lefts = (0, height - side), (0, width - side)
    return [*(cut(image, t, lf, side) for t in tops for lf in lefts), center_crop(image, side)]


def measure(blocks: Iterable[Pixels]) -> dict[str, Any]:
    """Mean, standard deviation and principal components of the colours of pixels (N, C)."""
    count, total, products = 0, np.zeros(1), np.zeros((1, 1))
    for block in blocks:
        values = block.astype(np.float64) / 255
        count += len(values)
        total = total + values.sum(axis=0)
        products = products + values.T @ values
    mean = total / count
    covariance: NDArray[np.float64] = products / count - np.outer(mean, mean)
    variances, vectors = np.linalg.eigh(covariance)
    std = np.sqrt(np.clip(np.diag(covariance), 0, None))
    std[std < 1e-4] = 1.0  # what never changes need not be scaled
    colours = vectors.T * np.sqrt(np.clip(variances, 0, None))[:, None]
    return {
        "mean": tuple(mean.tolist()),
        "std": tuple(std.tolist()),
        "colours": tuple(tuple(row) for row in colours.tolist()),
    }
