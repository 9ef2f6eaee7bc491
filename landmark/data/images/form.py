"""What a run knows of its images: the classes' names, the form they are kept in, their colours.

It is all that using a trained network needs beside the weights; `classes.json` in a run folder.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.storage import read_signed, signed, write_durably
from landmark.data.images.decoding import Fit, Fitting, Interpolation, Pixels

FILE = "classes.json"


@dataclasses.dataclass(frozen=True)
class ImageForm:
    """The classes of a run, and how its images become numbers."""

    names: tuple[str, ...]
    channels: int = 3
    size: int | None = None
    fit: Fit = "crop"
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: tuple[float, ...] = (0.229, 0.224, 0.225)
    """Standard deviation of the training pixels (0 to 1) per channel; default: ImageNet's."""
    colours: tuple[tuple[float, ...], ...] = ()
    """Principal components of the training colours, each scaled by its standard deviation."""
    interpolation: Interpolation = "bilinear"

    @classmethod
    def load(cls, path: Path) -> "ImageForm":
        """What `save` wrote."""
        body = read_signed(path, "put the run's own back")
        body.pop("sha256")
        for key in ("names", "mean", "deviation"):
            body[key] = tuple(body[key])
        body["colours"] = tuple(tuple(row) for row in body["colours"])
        return cls(**body)

    def save(self, path: Path) -> None:
        write_durably(path, signed(dataclasses.asdict(self)))

    @property
    def fitting(self) -> Fitting:
        """How an image is read."""
        return Fitting(self.size, self.fit, self.channels, self.interpolation)

    def normalise(self, images: Tensor) -> Tensor:
        """Each channel with mean 0 and deviation 1. (B, C, H, W) of bytes or of 0 to 1"""
        scale = 255.0 if images.dtype == torch.uint8 else 1.0
        mean = torch.tensor(self.mean).view(-1, 1, 1)
        deviation = torch.tensor(self.deviation).view(-1, 1, 1)
        return torch.addcmul(-mean / deviation, images.float(), 1 / (deviation * scale))

    def restore(self, images: Tensor) -> Tensor:
        """Between 0 and 1 again, to be looked at. (B, C, H, W)"""
        mean = torch.tensor(self.mean).view(-1, 1, 1)
        deviation = torch.tensor(self.deviation).view(-1, 1, 1)
        return (images * deviation + mean).clamp(0, 1)

    def network_input(self, images: Sequence[Pixels], side: int) -> Tensor:
        """The middles of fitted images as a network reads them. (B, C, side, side)"""
        return self.normalise(as_tensor(np.stack([middle(image, side) for image in images])))

    def ten_crops(self, images: Sequence[Pixels], side: int) -> Tensor:
        """Four corners and the middle, and these mirrored (Krizhevsky). (B * 10, C, side, side)"""
        found = [crop for image in images for crop in _corners(image, side)]
        return self.normalise(as_tensor(np.stack([c for f in found for c in (f, f[:, ::-1])])))


def as_tensor(images: Pixels) -> Tensor:
    """(B, H, W, C) -> (B, C, H, W), without moving anything: channels stay last in memory."""
    return torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2)


def middle(image: Pixels, side: int) -> Pixels:
    """The middle of an image; where it is smaller, black is around it. -> (side, side, C)"""
    height, width, _ = image.shape
    return cut(image, middle_start(height, side), middle_start(width, side), side)


def middle_start(length: int, side: int) -> int:
    """Where the middle begins along one axis; of an odd rest, as torchvision has it."""
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
    return [*(cut(image, t, lf, side) for t in tops for lf in lefts), middle(image, side)]


def measure(blocks: Iterable[Pixels]) -> dict[str, Any]:
    """Mean, deviation and principal components of the colours of pixels, given as (N, C)."""
    count, total, products = 0, np.zeros(1), np.zeros((1, 1))
    for block in blocks:
        values = block.astype(np.float64) / 255
        count += len(values)
        total = total + values.sum(axis=0)
        products = products + values.T @ values
    mean = total / count
    covariance: NDArray[np.float64] = products / count - np.outer(mean, mean)
    variances, vectors = np.linalg.eigh(covariance)
    deviation = np.sqrt(np.clip(np.diag(covariance), 0, None))
    deviation[deviation < 1e-4] = 1.0  # what never changes need not be scaled
    colours = vectors.T * np.sqrt(np.clip(variances, 0, None))[:, None]
    return {
        "mean": tuple(mean.tolist()),
        "deviation": tuple(deviation.tolist()),
        "colours": tuple(tuple(row) for row in colours.tolist()),
    }
