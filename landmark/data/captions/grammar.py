"""A small grammar of captions of drawn scenes, and what is true of a scene.

    caption  = ["there is" | "there are"] body
    body     = phrase [place | relation phrase | "and" phrase ["and" phrase]]
    phrase   = "a" [scale] [colour] shape | ("two" | "three") [scale] [colour] shapes
    place    = "on the left" | "on the right" | "at the top" | "at the bottom" | "in the middle"
    relation = "above" | "below" | "to the left of" | "to the right of"

"A red star" is true if there is at least one, "two red stars" if there are exactly two. Phrases of
one caption are about different objects, and what is said of several holds for each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from landmark.data.captions.drawing import mask
from landmark.data.captions.scenes import COLOURS, RADII, SHAPES, Scene, SceneObject

NUMBERS: Mapping[str, int] = {"a": 1, "two": 2, "three": 3}
PLACES: Mapping[tuple[str, ...], str] = {
    ("on", "the", "left"): "left",
    ("on", "the", "right"): "right",
    ("at", "the", "top"): "top",
    ("at", "the", "bottom"): "bottom",
    ("in", "the", "middle"): "middle",
}
RELATIONS: Mapping[tuple[str, ...], str] = {
    ("above",): "above",
    ("below",): "below",
    ("to", "the", "left", "of"): "left",
    ("to", "the", "right", "of"): "right",
}
_MOST_PHRASES = 3


def plural(shape: str) -> str:
    return f"{shape}es" if shape.endswith("s") else f"{shape}s"


_PLURALS = {plural(shape): shape for shape in SHAPES}


@dataclass(frozen=True)
class Phrase:
    """A noun with what is said of it; `word` is the noun's place in the caption."""

    number: int
    scale: str | None
    colour: str | None
    shape: str
    word: int

    def fits(self, each: SceneObject) -> bool:
        return (
            each.shape == self.shape
            and self.colour in (None, each.colour)
            and self.scale in (None, each.scale)
        )

    def referents(self, scene: Scene) -> list[frozenset[int]]:
        """What it can be about: one object that fits, or all if they are as many as it says."""
        fitting = [number for number, each in enumerate(scene.objects) if self.fits(each)]
        if self.number == 1:
            return [frozenset({number}) for number in fitting]
        return [frozenset(fitting)] if len(fitting) == self.number else []


@dataclass(frozen=True)
class Statement:
    """What a caption says."""

    phrases: tuple[Phrase, ...]
    place: str | None = None
    relation: str | None = None

    def readings(self, scene: Scene) -> Iterator[tuple[frozenset[int], ...]]:
        """All ways to give each phrase objects such that it is true."""
        for chosen in product(*(phrase.referents(scene) for phrase in self.phrases)):
            are_different = sum(map(len, chosen)) == len(frozenset[int]().union(*chosen))
            if are_different and self._holds(scene.objects, chosen):
                yield chosen

    def _holds(self, objects: Sequence[SceneObject], chosen: Sequence[frozenset[int]]) -> bool:
        if self.place:
            return all(objects[number].is_at(self.place) for number in chosen[0])
        if self.relation:
            return all(
                objects[one].stands(self.relation, objects[other])
                for one, other in product(chosen[0], chosen[1])
            )
        return True


class _Words:
    """The words of a caption, read from the left."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.at = words, 0

    def take(self, *wanted: str) -> bool:
        """Step over these words if they come next."""
        end = self.at + len(wanted)
        if tuple(self.words[self.at : end]) != wanted:
            return False
        self.at = end
        return True

    def take_one(self, known: Sequence[str]) -> str | None:
        return next((word for word in known if self.take(word)), None)

    def take_key(self, known: Mapping[tuple[str, ...], str]) -> str | None:
        return next((meaning for words, meaning in known.items() if self.take(*words)), None)

    @property
    def is_over(self) -> bool:
        return self.at == len(self.words)


def parse(caption: str) -> Statement | None:
    """What a caption says; None if it is not of the grammar."""
    words = _Words(caption.split())
    opening = next((w for w in ("is", "are") if words.take("there", w)), None)
    first = _phrase(words)
    if first is None or (opening and (opening == "is") != (first.number == 1)):
        return None
    phrases = [first]
    place = words.take_key(PLACES)
    relation = None if place else words.take_key(RELATIONS)
    if relation:
        phrases += [phrase for phrase in [_phrase(words)] if phrase]
        if len(phrases) < 2:
            return None
    elif not place:
        while len(phrases) < _MOST_PHRASES and words.take("and"):
            found = _phrase(words)
            if found is None:
                return None
            phrases.append(found)
    return Statement(tuple(phrases), place, relation) if words.is_over else None


def _phrase(words: _Words) -> Phrase | None:
    number = NUMBERS.get(words.take_one(tuple(NUMBERS)) or "")
    if number is None:
        return None
    scale, colour = words.take_one(tuple(RADII)), words.take_one(COLOURS)
    noun = words.take_one(SHAPES if number == 1 else tuple(_PLURALS))
    if noun is None:
        return None
    return Phrase(number, scale, colour, _PLURALS.get(noun, noun), words.at - 1)


def is_true(caption: str, scene: Scene) -> bool:
    """Whether a caption is of the grammar and true of a scene."""
    statement = parse(caption)
    return statement is not None and any(True for _ in statement.readings(scene))


def noun_objects(caption: str, word: int, scene: Scene) -> tuple[int, ...]:
    """The numbers of the objects that a noun of a true caption may be about.

    `word` counts the caption's words from 0. Of another word, or a caption that is not true: none.
    """
    statement = parse(caption)
    if statement is None:
        return ()
    found: set[int] = set()
    for chosen in statement.readings(scene):
        for phrase, objects in zip(statement.phrases, chosen, strict=True):
            if phrase.word == word:
                found |= objects
    return tuple(sorted(found))


def noun_object(caption: str, word: int, scene: Scene, side: int) -> NDArray[np.bool_] | None:
    """The pixels of the objects that a noun of a true caption may be about. (side, side)

    None where `noun_objects` finds none.
    """
    numbers = noun_objects(caption, word, scene)
    if not numbers:
        return None
    inside: NDArray[np.bool_] = np.any([mask(scene.objects[n], side) for n in numbers], axis=0)
    return inside
