"""Captions of drawn scenes: several different true sentences of the grammar about each.

Every phrase of a caption names the colour, unless it counts objects of several colours; half of
the phrases name the size. Nothing is said that would be true of most scenes ("two shapes").
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.random import Generator

from landmark.core.runtime import derive_seed
from landmark.data.captions.grammar import NUMBERS, PLACES, RELATIONS, plural
from landmark.data.captions.scenes import Scene, SceneObject

CAPTIONS = 5
"""Captions of each scene."""
_WORDS = {number: word for word, number in NUMBERS.items()}
_OPENED = 0.25  # how many captions begin with "there is"
_SCALED = 0.5  # how many phrases name the size


def describe(scene: Scene, count: int = CAPTIONS) -> tuple[str, ...]:
    """Different true captions of a scene, always the same ones."""
    random = np.random.default_rng(derive_seed("captions", scene.key))
    captions: dict[str, None] = {}
    while len(captions) < count:
        captions[_caption(scene, random)] = None
    return tuple(captions)


def _caption(scene: Scene, random: Generator) -> str:
    """A sentence about a scene."""
    kinds = [_with_place(scene, random)]
    if len(scene.objects) == 1:
        kinds.append(_phrase(scene.objects, random))
    else:
        kinds += [_with_relation(scene, random), _listed(scene, random)]
        kinds += [_phrase(group, random) for group in _alike(scene)]
    body = kinds[int(random.integers(len(kinds)))]
    if random.random() >= _OPENED:
        return body
    return f"there {'is' if body.startswith('a ') else 'are'} {body}"


def _phrase(objects: Sequence[SceneObject], random: Generator) -> str:
    """A phrase about one object, or several of one shape."""
    first, words = objects[0], [_WORDS[len(objects)]]
    if random.random() < _SCALED and len({each.scale for each in objects}) == 1:
        words.append(first.scale)
    if len({each.colour for each in objects}) == 1:
        words.append(first.colour)
    return " ".join([*words, first.shape if len(objects) == 1 else plural(first.shape)])


def _alike(scene: Scene) -> Iterator[list[SceneObject]]:
    """All objects of one shape, and all of one shape and colour, where there are several."""
    for shape in dict.fromkeys(each.shape for each in scene.objects):
        same = [each for each in scene.objects if each.shape == shape]
        if len(same) > 1:
            yield same
        for colour in dict.fromkeys(each.colour for each in same):
            both = [each for each in same if each.colour == colour]
            if 1 < len(both) < len(same):
                yield both


def _with_place(scene: Scene, random: Generator) -> str:
    each = scene.objects[int(random.integers(len(scene.objects)))]
    places = [" ".join(words) for words, place in PLACES.items() if each.is_at(place)]
    return f"{_phrase([each], random)} {places[int(random.integers(len(places)))]}"


def _with_relation(scene: Scene, random: Generator) -> str:
    """Two objects and how they stand to each other, which is so in one direction at least."""
    found = [
        (one, " ".join(words), other)
        for one, other in permutations(scene.objects, 2)
        for words, relation in RELATIONS.items()
        if one.stands(relation, other)
    ]
    one, words, other = found[int(random.integers(len(found)))]
    return f"{_phrase([one], random)} {words} {_phrase([other], random)}"


def _listed(scene: Scene, random: Generator) -> str:
    """All objects; those of one shape and colour together."""
    groups: dict[tuple[str, str], list[SceneObject]] = {}
    for number in random.permutation(len(scene.objects)):
        each = scene.objects[int(number)]
        groups.setdefault((each.shape, each.colour), []).append(each)
    return " and ".join(_phrase(group, random) for group in groups.values())
