import math
from collections import Counter

import pytest

from landmark.core.errors import UserError
from landmark.data.captions.scenes import (
    COLOURS,
    COMPOSITIONAL,
    HELD_OUT,
    SHAPES,
    SceneObject,
    has_held_out,
    scene_of,
)


def scenes(split, count, seed=1):
    return [scene_of(split, index, seed) for index in range(count)]


def kinds(found):
    return Counter((each.shape, each.colour) for scene in found for each in scene.objects)


def test_a_scene_is_the_same_every_time_and_no_other():
    assert scene_of("test", 7, 1) == scene_of("test", 7, 1)
    others = [scene_of("test", 8, 1), scene_of("valid", 7, 1), scene_of("test", 7, 2)]
    assert scene_of("test", 7, 1) not in others


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_ordinary_scenes_have_every_pair_but_those_held_out(split):
    pairs = {(shape, colour) for shape in SHAPES for colour in COLOURS}
    assert set(kinds(scenes(split, 400))) == pairs - HELD_OUT


def test_every_compositional_scene_has_a_pair_that_training_never_has():
    found = scenes(COMPOSITIONAL, 400)
    assert all(has_held_out(scene) for scene in found)
    assert set(kinds(found)) >= HELD_OUT


def test_shapes_and_colours_of_held_out_pairs_occur_in_training():
    found = kinds(scenes("train", 400))
    for shape, colour in HELD_OUT:
        assert sum(count for (s, _), count in found.items() if s == shape) > 50
        assert sum(count for (_, c), count in found.items() if c == colour) > 50


def test_objects_are_one_to_three_inside_the_image_and_apart():
    numbers = Counter()
    for scene in scenes("train", 300):
        numbers[len(scene.objects)] += 1
        for each in scene.objects:
            assert 1.3 * each.radius < each.x < 1 - 1.3 * each.radius
            assert 1.3 * each.radius < each.y < 1 - 1.3 * each.radius
            assert each.radius < 0.12 if each.scale == "small" else each.radius > 0.14
        for number, one in enumerate(scene.objects):
            for other in scene.objects[:number]:
                distance = math.hypot(one.x - other.x, one.y - other.y)
                assert distance > 1.3 * (one.radius + other.radius)
    assert set(numbers) == {1, 2, 3}
    assert min(numbers.values()) > 40


def test_where_an_object_is_is_never_a_matter_of_taste():
    for scene in scenes("train", 300):
        at = [value for each in scene.objects for value in (each.x, each.y)]
        assert all(min(abs(value - 0.36), abs(value - 0.64)) > 0.029 for value in at)
        for one in scene.objects:
            for other in scene.objects:
                for difference in (one.x - other.x, one.y - other.y):
                    assert abs(abs(difference) - 0.12) > 0.029


@pytest.mark.parametrize(
    ("x", "y", "places"),
    [
        (0.2, 0.5, {"left"}),
        (0.8, 0.9, {"right", "bottom"}),
        (0.5, 0.5, {"middle"}),
        (0.5, 0.1, {"top"}),
    ],
)
def test_places_are_thirds_of_the_image(x, y, places):
    found = SceneObject("star", "white", "small", x, y, 0.1)
    every = ("left", "right", "top", "bottom", "middle")
    assert {place for place in every if found.is_at(place)} == places


def test_relations_are_as_one_sees_them():
    low = SceneObject("star", "white", "small", 0.5, 0.8, 0.1)
    high = SceneObject("star", "white", "small", 0.45, 0.2, 0.1)
    every = ("above", "below", "left", "right")
    assert {relation for relation in every if high.stands(relation, low)} == {"above"}
    assert {relation for relation in every if low.stands(relation, high)} == {"below"}


def test_an_unknown_split_is_named():
    with pytest.raises(UserError, match=r"no split 'tset': did you mean test"):
        scene_of("tset", 0, 1)
