"""Scenes of one to three coloured shapes, drawn at random: an image whose every object is known.

A scene is a function of its seed, its split and its number, so it need not be kept. Sizes and
positions keep a distance from the borders between what words mean, so that no caption is a matter
of taste. Some pairs of shape and colour are never in training: only in `test-compositional`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.runtime import derive_seed

Shape = Literal["circle", "square", "triangle", "star", "cross"]
Colour = Literal["red", "green", "blue", "yellow", "purple", "white"]
Scale = Literal["small", "large"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "star", "cross")
COLOURS: tuple[Colour, ...] = ("red", "green", "blue", "yellow", "purple", "white")
HELD_OUT: frozenset[tuple[Shape, Colour]] = frozenset(
    {
        ("circle", "blue"),
        ("square", "yellow"),
        ("triangle", "green"),
        ("star", "red"),
        ("cross", "purple"),
    }
)
"""Pairs that are only in the split `test-compositional`, where each scene has one or more."""
COMPOSITIONAL = "test-compositional"
SPLITS = ("train", "valid", "test", COMPOSITIONAL)
RADII: dict[Scale, tuple[float, float]] = {"small": (0.08, 0.1), "large": (0.15, 0.18)}
"""Of circles, as shares of the image's side; other shapes are about as large."""
REACH = 1.35
"""How far from its centre an object may reach, in radii."""
NEAR_EDGE = 0.36
"""An object is on the left if its centre lies within this share of the side, and so on."""
APART = 0.12
"""How much further left or higher a centre is than one that it is left of or above."""
_UNCLEAR = 0.03  # no coordinate, and no difference of two, is so near to one of these borders
_COUNTS = (0.25, 0.45, 0.3)  # how often a scene has one, two, three objects
_REPEATS = 0.3  # how often an object has the shape and colour, or the shape, of another
_TRIES = 40


@dataclass(frozen=True)
class SceneObject:
    """One shape of a scene; coordinates are shares of the image's side, from its upper left."""

    shape: Shape
    colour: Colour
    scale: Scale
    x: float
    y: float
    radius: float
    angle: float = 0.0
    """Rotation in radians."""

    def is_at(self, place: str) -> bool:
        """Whether its centre is at `left`, `right`, `top`, `bottom` or in the `middle`."""
        sides = {
            "left": self.x < NEAR_EDGE,
            "right": self.x > 1 - NEAR_EDGE,
            "top": self.y < NEAR_EDGE,
            "bottom": self.y > 1 - NEAR_EDGE,
        }
        return not any(sides.values()) if place == "middle" else sides[place]

    def stands(self, relation: str, other: "SceneObject") -> bool:
        """Whether it is `above`, `below`, `left` of or `right` of another object."""
        distances = {
            "above": other.y - self.y,
            "below": self.y - other.y,
            "left": other.x - self.x,
            "right": self.x - other.x,
        }
        return distances[relation] > APART


@dataclass(frozen=True)
class Scene:
    """What is to be seen; `key` draws the background and the noise."""

    objects: tuple[SceneObject, ...]
    key: int


def scene_of(split: str, index: int, seed: int) -> Scene:
    """A scene of a split, always the same one."""
    if split not in SPLITS:
        raise UserError(f"drawn scenes have no split {split!r}: {nearest(split, SPLITS)}")
    key = derive_seed("scene", seed, split, index)
    random = np.random.default_rng(key)
    while not (objects := _objects(random, split == COMPOSITIONAL)):
        pass
    return Scene(objects, key)


def _objects(random: Generator, is_compositional: bool) -> tuple[SceneObject, ...]:
    """Objects that do not touch, or none if they found no room."""
    count = 1 + int(random.choice(len(_COUNTS), p=_COUNTS))
    objects: list[SceneObject] = []
    for shape, colour in _kinds(random, count, is_compositional):
        found = _placed(random, shape, colour, objects)
        if found is None:
            return ()
        objects.append(found)
    return tuple(objects)


def _kinds(random: Generator, count: int, is_compositional: bool) -> list[tuple[Shape, Colour]]:
    """Shape and colour of each object; now and then one is like another."""
    usual = [(s, c) for s in SHAPES for c in COLOURS if (s, c) not in HELD_OUT]
    new = sorted(HELD_OUT)
    kinds = [_pick(random, new if is_compositional else usual)]
    while len(kinds) < count:
        drawn = random.random()
        if drawn < _REPEATS / 2:
            kinds.append(kinds[0])
        elif drawn < _REPEATS:
            kinds.append(_pick(random, [kind for kind in usual if kind[0] == kinds[0][0]]))
        else:
            kinds.append(_pick(random, usual))
    return [kinds[number] for number in random.permutation(count)]


def _pick(random: Generator, kinds: Sequence[tuple[Shape, Colour]]) -> tuple[Shape, Colour]:
    return kinds[int(random.integers(len(kinds)))]


def _placed(
    random: Generator, shape: Shape, colour: Colour, others: Sequence[SceneObject]
) -> SceneObject | None:
    """An object of random size where there is room; None: there is none."""
    scale: Scale = "large" if random.random() < 0.5 else "small"
    radius = float(random.uniform(*RADII[scale]))
    reach = radius * REACH
    for _ in range(_TRIES):
        x, y = random.uniform(reach, 1 - reach, 2).tolist()
        angle = float(random.uniform(-0.25, 0.25))
        found = SceneObject(shape, colour, scale, x, y, radius, angle)
        if _is_clear(found) and all(_are_clear(found, other) for other in others):
            return found
    return None


def _is_clear(found: SceneObject) -> bool:
    borders = (NEAR_EDGE, 1 - NEAR_EDGE)
    return all(abs(at - border) > _UNCLEAR for at in (found.x, found.y) for border in borders)


def _are_clear(one: SceneObject, other: SceneObject) -> bool:
    """Whether two objects do not touch, and it is plain how they stand to each other."""
    across, down = one.x - other.x, one.y - other.y
    touch = math.hypot(across, down) < REACH * (one.radius + other.radius)
    return not touch and all(abs(abs(d) - APART) > _UNCLEAR for d in (across, down))


def has_held_out(scene: Scene) -> bool:
    """Whether a scene shows a pair of shape and colour that training never does."""
    return any((each.shape, each.colour) in HELD_OUT for each in scene.objects)
