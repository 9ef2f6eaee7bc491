"""Drawn scenes as pixels: anti-aliased shapes on a noisy background, and the mask of each."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from landmark.core.runtime import derive_seed
from landmark.data.captions.scenes import REACH, Scene, SceneObject, Shape
from landmark.data.images.decoding import Pixels

Numbers = NDArray[np.float64]
_RGB = {
    "red": (0.87, 0.15, 0.15),
    "green": (0.15, 0.68, 0.22),
    "blue": (0.17, 0.33, 0.9),
    "yellow": (0.95, 0.85, 0.15),
    "purple": (0.6, 0.22, 0.75),
    "white": (0.96, 0.96, 0.96),
}
_TINT = 0.06  # by how much a channel of an object's colour differs from its kind
_DARKEST, _LIGHTEST = 0.12, 0.45  # of a background
_POINTS = 5  # of a star
_INNER = 0.45  # radius of a star's inner corners
_ARM = 0.36  # half the width of a cross's arm


def draw(scene: Scene, side: int) -> Pixels:
    """A scene as an image. (side, side, 3)"""
    random = np.random.default_rng(derive_seed("drawing", scene.key))
    image = _background(random, side)
    for each in scene.objects:
        tint = random.uniform(-_TINT, _TINT, 3)
        colour = np.clip(np.asarray(_RGB[each.colour]) + tint, 0, 1)
        cover = coverage(each, side)[..., None]
        image = image * (1 - cover) + colour * cover
    noise = random.normal(0, random.uniform(0.01, 0.05), (side, side, 3))
    pixels: Pixels = np.rint(np.clip(image + noise, 0, 1) * 255).astype(np.uint8)
    return pixels


def mask(each: SceneObject, side: int) -> NDArray[np.bool_]:
    """Which pixels lie inside an object. (side, side)"""
    return coverage(each, side) >= 0.5


def coverage(each: SceneObject, side: int) -> Numbers:
    """How much of each pixel an object covers. (side, side)"""
    reach = REACH * each.radius + 1 / side  # beyond, nothing is covered
    columns, rows = (_span(at, reach, side) for at in (each.x, each.y))
    across = ((columns + 0.5) / side - each.x) / each.radius
    down = ((rows + 0.5) / side - each.y) / each.radius
    cos, sin = math.cos(each.angle), math.sin(each.angle)
    x, y = np.meshgrid(across, down)
    distance = _distance(each.shape, cos * x + sin * y, cos * y - sin * x)
    cover = np.zeros((side, side))
    inside = np.clip(0.5 - distance * each.radius * side, 0, 1)
    cover[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = inside
    return cover


def _span(at: float, reach: float, side: int) -> NDArray[np.int64]:
    """The rows or columns that an object may touch."""
    first, last = math.floor((at - reach) * side), math.ceil((at + reach) * side)
    return np.arange(max(first, 0), max(min(last, side), 1))


def _background(random: np.random.Generator, side: int) -> Numbers:
    """Dark, from one colour to another in some direction. (side, side, 3)"""
    begin, end = random.uniform(_DARKEST, _LIGHTEST, (2, 3)).reshape(2, 1, 1, 3)
    angle = random.uniform(0, 2 * math.pi)
    along = np.linspace(-1, 1, side)
    slope = math.cos(angle) * along[None, :] + math.sin(angle) * along[:, None]
    share = (0.5 + slope / (2 * math.sqrt(2)))[..., None]
    mixed: Numbers = begin * (1 - share) + end * share
    return mixed


def _distance(shape: Shape, x: Numbers, y: Numbers) -> Numbers:
    """How far a point lies outside a shape of radius 1 (negative: inside)."""
    if shape == "circle":
        return np.hypot(x, y) - 1
    corners = _corners(shape)
    nearest, is_inside = np.full(x.shape, np.inf), np.zeros(x.shape, bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
        t = np.clip(along, 0, 1)
        nearest = np.minimum(nearest, np.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)))
        if ay != by:  # a ray to the right crosses this edge
            crosses = ((ay > y) != (by > y)) & (x < ax + (y - ay) * (bx - ax) / (by - ay))
            is_inside ^= crosses
    return np.where(is_inside, -nearest, nearest)


@cache
def _corners(shape: Shape) -> Numbers:
    """The polygon of a shape, about as large as a circle of radius 1. (corners, 2)"""
    if shape == "cross":
        a = _ARM
        quarter = np.array([(a, -1), (a, -a), (1, -a)])
        turn = np.array([(0, 1), (-1, 0)])  # by 90 degrees
        corners = np.concatenate([quarter @ np.linalg.matrix_power(turn, k) for k in range(4)])
    else:
        count = {"square": 4, "triangle": 3, "star": 2 * _POINTS}[shape]
        start = -math.pi / 2 + (math.pi / 4 if shape == "square" else 0)
        angles = start + 2 * math.pi * np.arange(count) / count
        radii = np.where(np.arange(count) % 2, _INNER if shape == "star" else 1.0, 1.0)
        corners = np.stack((radii * np.cos(angles), radii * np.sin(angles)), 1)
    x, y = corners.T
    area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    farthest = float(np.hypot(x, y).max())
    scaled: Numbers = corners * min(math.sqrt(math.pi / area), REACH / farthest)
    return scaled
