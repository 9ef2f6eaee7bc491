"""Data augmentation: each training image is changed at random in every epoch.

Cutting, mirroring and scaling happen on bytes, one image after the other; turning, colours and
cutout on whole batches of numbers between 0 and 1. All draws depend on seed, epoch and sample.

Colour components: Krizhevsky et al. 2012, "ImageNet Classification with Deep CNNs", section 4.1.
They add multiples of the components' eigenvalues, whose size depends on the unit of a pixel; here
they are multiples of the standard deviations, which does not. Cutout: DeVries and Taylor 2017,
arXiv 1708.04552. Mixup: Zhang et al. 2018, arXiv 1710.09412. CutMix: Yun et al. 2019, arXiv
1905.04899. RandAugment: randaugment.py. Crops of random area and shape:
Szegedy et al. 2015, arXiv 1409.4842. Elastic: after Simard et al. 2003, "Best Practices for
Convolutional Neural Networks", with a coarse grid of shifts in place of smoothed noise.
"""

import math
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.images.decoding import Interpolation, Pixels, resampling
from landmark.data.images.draws import Draws
from landmark.data.images.form import cut
from landmark.data.images.randaugment import MOST

Share = Annotated[float, Field(ge=0, le=1)]
_LONGEST = 4 / 3  # a random part of an image is at most so many times as long as wide
_KNOTS = 5  # of the elastic grid, a side
_GREY = (0.299, 0.587, 0.114)


@settings
class AugmentConfig:
    """Data augmentation of the training images; by default only random crops."""

    padding: Annotated[int, Field(ge=0)] = 0
    """Random crop: pad the image by this many pixels on each side first."""
    area: tuple[float, float] | None = None
    """Random resized crop: range of the crop's area as a fraction of the image, as [0.08, 1];
    null: off.
    """
    flip: bool = False
    """Flip half of the images horizontally."""
    rotation: Annotated[float, Field(ge=0, le=180)] = 0.0
    """Maximum rotation in degrees, in either direction."""
    zoom: Share = 0.0
    """Maximum scaling up or down as a fraction, drawn separately for height and width."""
    shear: Annotated[float, Field(ge=0, le=45)] = 0.0
    """Maximum shear in degrees."""
    shift: Annotated[float, Field(ge=0)] = 0.0
    """Maximum translation in pixels (subpixel), drawn separately for each axis."""
    elastic: Annotated[float, Field(ge=0)] = 0.0
    """Elastic deformation: standard deviation of the displacement in pixels."""
    brightness: Share = 0.0
    """Maximum change of brightness, as in torchvision's ColorJitter."""
    contrast: Share = 0.0
    """Maximum change of contrast, as in ColorJitter."""
    saturation: Share = 0.0
    """Maximum change of saturation, as in ColorJitter."""
    hue: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Maximum shift of the hue, as a fraction of the colour circle."""
    components: Annotated[float, Field(ge=0)] = 0.0
    """AlexNet's PCA colour augmentation: standard deviation of its draws (paper: 0.1)."""
    cutout: Annotated[int, Field(ge=0)] = 0
    """Cutout: side of the square that is erased, in pixels; 0: off."""
    mixup: Share = 0.0
    """Alpha of mixup; 0: off. With mixup and cutmix, each image gets one of the two."""
    cutmix: Share = 0.0
    """Alpha of CutMix; 0: off."""
    randaugment: (
        tuple[Annotated[int, Field(ge=1)], Annotated[float, Field(ge=0, le=MOST)]] | None
    ) = None
    """RandAugment: number of operations and magnitude (up to 30), as [2, 9]; null: off."""

    @model_validator(mode="after")
    def _goes_together(self) -> "AugmentConfig":
        if self.area and not 0 < self.area[0] <= self.area[1] <= 1:
            raise ValueError("augment.area is minimum and maximum, as [0.35, 1.0]")
        if self.area and self.padding:
            raise ValueError("augment.area and augment.padding are two ways to crop: choose one")
        return self

    @property
    def mixes(self) -> bool:
        """Whether images are mixed with others."""
        return bool(self.mixup or self.cutmix)

    @property
    def moves(self) -> bool:
        """Whether images are turned, scaled, shifted or bent."""
        return bool(self.rotation or self.zoom or self.shear or self.shift or self.elastic)

    @property
    def recolours(self) -> bool:
        """Whether brightness, contrast or colours change."""
        return bool(self.brightness or self.contrast or self.saturation or self.hue)

    @property
    def changes_values(self) -> bool:
        """Whether more is done than cutting and mirroring."""
        return bool(self.moves or self.recolours or self.components)

    def check(self, channels: int) -> None:
        """Refuse changes of colours that grey images do not have."""
        for name in ("saturation", "hue"):
            if channels == 1 and getattr(self, name):
                raise UserError(f"augment.{name}: these images are grey: set it to 0")


def cut_at_random(
    images: list[Pixels],
    config: AugmentConfig,
    side: int,
    draws: Draws,
    interpolation: Interpolation = "bilinear",
) -> Pixels:
    """A square of each image, mirrored or not. (B, side, side, C)"""
    result = np.empty((len(images), side, side, images[0].shape[2]), np.uint8)
    if config.area:
        boxes = _boxes(images, config.area, draws)
        for index, (image, box) in enumerate(zip(images, boxes, strict=True)):
            result[index] = _scaled(image, tuple(box.tolist()), side, interpolation)
    else:
        tops = _starts(np.array([len(image) for image in images]), config.padding, side, draws, "y")
        widths = np.array([image.shape[1] for image in images])
        lefts = _starts(widths, config.padding, side, draws, "x")
        for index, image in enumerate(images):
            result[index] = cut(image, int(tops[index]), int(lefts[index]), side)
    if config.flip:
        mirrored = draws.uniform("flip")[:, 0] < 0.5
        result[mirrored] = result[mirrored, :, ::-1]
    return result


def _starts(
    lengths: NDArray[np.int64], padding: int, side: int, draws: Draws, use: str
) -> NDArray[np.int64]:
    """Where crops begin along one axis: an image that is too small stays about in the middle."""
    free = lengths - side
    middle = -(-free // 2)
    first = np.where(free >= 0, 0, middle) - padding
    last = np.where(free >= 0, free, middle) + padding
    return first + draws.integers(use, last - first)


def _boxes(images: list[Pixels], area: tuple[float, float], draws: Draws) -> NDArray[np.float64]:
    """Left, top, right and bottom of a random part of each image. (B, 4)"""
    height = np.array([image.shape[0] for image in images], np.float64)
    width = np.array([image.shape[1] for image in images], np.float64)
    wanted = draws.between("area", *area) * height * width
    ratio = np.exp(draws.between("ratio", -math.log(_LONGEST), math.log(_LONGEST)))
    wide = np.minimum(np.sqrt(wanted * ratio), width)
    high = np.minimum(np.sqrt(wanted / ratio), height)
    left = draws.between("x", 0, 1) * (width - wide)
    top = draws.between("y", 0, 1) * (height - high)
    return np.stack((left, top, left + wide, top + high), axis=1)


def _scaled(
    image: Pixels, box: tuple[float, ...], side: int, interpolation: Interpolation
) -> Pixels:
    flat = image[..., 0] if image.shape[2] == 1 else image
    left, top, right, bottom = box
    part = Image.fromarray(flat).resize(
        (side, side), resampling(interpolation), (left, top, right, bottom)
    )
    return np.asarray(part).reshape(side, side, image.shape[2])


def vary(
    images: Tensor, config: AugmentConfig, draws: Draws, colours: NDArray[np.float64]
) -> Tensor:
    """Turn, bend and recolour images between 0 and 1; black comes in. (B, C, H, W)"""
    if config.moves:
        images = _moved(images, config, draws)
    if config.recolours:
        images = _jittered(images, config, draws)
    if config.components:
        amounts = config.components * draws.normal("components", len(colours)) @ colours
        images = images + _tensor(amounts)[:, :, None, None]
    return images


def _moved(images: Tensor, config: AugmentConfig, draws: Draws) -> Tensor:
    """Look every pixel up where the turned, scaled and shifted image has it."""
    count, channels, height, width = images.shape
    angle, slant = (
        np.radians(draws.between(use, -most, most))
        for use, most in (("rotation", config.rotation), ("shear", config.shear))
    )
    grow = 1 + config.zoom * (2 * draws.uniform("zoom", 2) - 1)
    shift = config.shift * (2 * draws.uniform("shift", 2) - 1) * 2 / np.array([width, height])
    cosine, sine, slope = np.cos(angle), np.sin(angle), np.tan(slant)
    # Rows of (rotation x shear) / zoom, in coordinates from -1 to 1.
    matrix = np.empty((count, 2, 3))
    matrix[:, 0, 0], matrix[:, 0, 1] = cosine, cosine * slope - sine
    matrix[:, 1, 0], matrix[:, 1, 1] = sine, sine * slope + cosine
    matrix[:, :, :2] /= grow[:, :, None]
    matrix[:, :, 2] = shift
    grid = functional.affine_grid(
        _tensor(matrix), [count, channels, height, width], align_corners=False
    )
    if config.elastic:
        knots = _tensor(draws.normal("elastic", 2 * _KNOTS**2)).view(count, 2, _KNOTS, _KNOTS)
        bend = functional.interpolate(knots, (height, width), mode="bicubic", align_corners=True)
        scale = torch.tensor([2 / width, 2 / height]) * config.elastic
        grid = grid + bend.permute(0, 2, 3, 1) * scale
    return functional.grid_sample(images, grid, align_corners=False)


def _jittered(images: Tensor, config: AugmentConfig, draws: Draws) -> Tensor:
    """Brightness, contrast, saturation and hue, in this order.

    Each maps colours linearly, so together they are one matrix and one shift for an image.
    """
    count, channels, height, width = images.shape
    grey = np.array(_GREY if channels == 3 else (1.0,))  # how bright a colour is to the eye
    brightness, contrast, saturation = (
        draws.between(use, 1 - most, 1 + most)[:, None]
        for use, most in (
            ("brightness", config.brightness),
            ("contrast", config.contrast),
            ("saturation", config.saturation),
        )
    )
    middle = brightness * (images.mean((2, 3)).numpy() @ grey)[:, None]
    matrix = (brightness * contrast)[:, :, None] * np.eye(channels)
    shift = np.repeat((1 - contrast) * middle, channels, axis=1)
    paler = saturation[:, :, None] * np.eye(channels) + (1 - saturation)[:, :, None] * grey
    matrix, shift = paler @ matrix, np.einsum("bij,bj->bi", paler, shift)
    if config.hue:
        turn = _hue_turns(2 * np.pi * draws.between("hue", -config.hue, config.hue))
        matrix, shift = turn @ matrix, np.einsum("bij,bj->bi", turn, shift)
    pixels = images.permute(0, 2, 3, 1).reshape(count, height * width, channels)
    changed = torch.baddbmm(_tensor(shift)[:, None], pixels, _tensor(matrix).transpose(1, 2))
    return changed.clamp_(0, 1).view(count, height, width, channels).permute(0, 3, 1, 2)


def _hue_turns(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turns of the colour cube about its grey diagonal, by Rodrigues' formula. (B, 3, 3)"""
    axis = np.full(3, 3**-0.5)
    cross = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) * 3**-0.5
    cosine, sine = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    turns: NDArray[np.float64] = (
        cosine * np.eye(3) + sine * cross + (1 - cosine) * np.outer(axis, axis)
    )
    return turns


def cut_out(images: Tensor, size: int, draws: Draws) -> Tensor:
    """A square of each normalised image becomes the mean; it may reach beyond. (B, C, H, W)"""
    _, _, height, width = images.shape
    is_out = []
    for use, length in (("cutout y", height), ("cutout x", width)):
        first = draws.integers(use, np.full(len(images), length - 1)) - size // 2
        places = np.arange(length)
        is_out.append((places >= first[:, None]) & (places < first[:, None] + size))
    blank = torch.from_numpy(is_out[0][:, :, None] & is_out[1][:, None, :])
    return images.masked_fill(blank[:, None], 0.0)


def mix_boxes(
    images: Tensor, others: Tensor, alpha: float, draws: Draws
) -> tuple[Tensor, NDArray[np.float64]]:
    """CutMix: a box of another image in each, and the share of it that is its own.

    (B, C, H, W) twice -> (B, C, H, W), (B,)
    """
    _, _, height, width = images.shape
    half = 0.5 * np.sqrt(1 - draws.beta("cutmix", alpha))
    is_in, areas = [], []
    for use, length in (("cutmix y", height), ("cutmix x", width)):
        middle = draws.integers(use, np.full(len(images), length - 1))
        reach = (half * length).astype(np.int64)
        first, end = np.clip(middle - reach, 0, length), np.clip(middle + reach, 0, length)
        places = np.arange(length)
        is_in.append((places >= first[:, None]) & (places < end[:, None]))
        areas.append((end - first) / length)
    box = torch.from_numpy(is_in[0][:, :, None] & is_in[1][:, None, :])
    return torch.where(box[:, None], others, images), 1 - areas[0] * areas[1]


def _tensor(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))
