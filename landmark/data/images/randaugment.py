"""RandAugment: some operations for each image, chosen at random, all of one magnitude.

Cubuk et al. 2020, "RandAugment: Practical automated data augmentation with a reduced search space",
arXiv 1909.13719. The 14 operations and how far a magnitude of 30 goes are those of AutoAugment
(Cubuk et al. 2019, arXiv 1805.09501, table 6), as torchvision has them. Departure: black comes in
at the edges, and turned pixels are interpolated.
"""

import math
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from landmark.data.images.decoding import Pixels
from landmark.data.images.draws import Draws

MOST = 30
"""The largest magnitude."""
_SHIFT = 150 / 331  # of the image's side, at the most
_SLANT, _TURN, _CHANGE, _BITS = 0.3, 30.0, 0.9, 4

Operation = Callable[[Image.Image, float], Image.Image]
"""An image and a share of the largest change, below 0 for the other direction."""


def _affine(image: Image.Image, *matrix: float) -> Image.Image:
    return image.transform(image.size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


def _shift(image: Image.Image, share: float, length: int) -> int:
    return int(_SHIFT * share * length)


def _threshold(share: float) -> int:
    """Brightness from which on pixels are inverted."""
    return math.ceil(255 * (1 - abs(share)))


OPERATIONS: dict[str, Operation] = {
    "identity": lambda image, share: image,
    "shear_x": lambda image, share: _affine(image, 1, _SLANT * share, 0, 0, 1, 0),
    "shear_y": lambda image, share: _affine(image, 1, 0, 0, _SLANT * share, 1, 0),
    "translate_x": lambda image, share: _affine(
        image, 1, 0, -_shift(image, share, image.width), 0, 1, 0
    ),
    "translate_y": lambda image, share: _affine(
        image, 1, 0, 0, 0, 1, -_shift(image, share, image.height)
    ),
    "rotate": lambda image, share: image.rotate(_TURN * share, Image.Resampling.BILINEAR),
    "brightness": lambda image, share: ImageEnhance.Brightness(image).enhance(1 + _CHANGE * share),
    "color": lambda image, share: ImageEnhance.Color(image).enhance(1 + _CHANGE * share),
    "contrast": lambda image, share: ImageEnhance.Contrast(image).enhance(1 + _CHANGE * share),
    "sharpness": lambda image, share: ImageEnhance.Sharpness(image).enhance(1 + _CHANGE * share),
    "posterize": lambda image, share: ImageOps.posterize(image, 8 - round(_BITS * abs(share))),
    "solarize": lambda image, share: ImageOps.solarize(image, _threshold(share)),
    "autocontrast": lambda image, share: ImageOps.autocontrast(image),
    "equalize": lambda image, share: ImageOps.equalize(image),
}


def randaugment(images: Pixels, count: int, magnitude: float, draws: Draws) -> Pixels:
    """Each image through `count` operations, one after the other. (B, H, W, C)"""
    operations, share = list(OPERATIONS.values()), magnitude / MOST
    chosen = (draws.uniform("randaugment", count) * len(operations)).astype(np.int64)
    signs = np.where(draws.uniform("randaugment sign", count) < 0.5, -share, share)
    result = np.empty_like(images)
    for index, pixels in enumerate(images):
        image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
        for number, signed in zip(chosen[index].tolist(), signs[index].tolist(), strict=True):
            image = operations[number](image, signed)
        result[index] = np.asarray(image).reshape(pixels.shape)
    return result
