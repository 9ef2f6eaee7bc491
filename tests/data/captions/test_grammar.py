import re
from itertools import permutations, product

import numpy as np
import pytest

from landmark.data.captions.description import describe
from landmark.data.captions.drawing import mask
from landmark.data.captions.grammar import is_true, noun_object, noun_objects, parse
from landmark.data.captions.scenes import COMPOSITIONAL, Scene, SceneObject, scene_of


def each(shape, colour, scale, x, y):
    return SceneObject(shape, colour, scale, x, y, 0.16 if scale == "large" else 0.09)


SCENE = Scene(
    (
        each("circle", "red", "large", 0.25, 0.25),
        each("square", "blue", "small", 0.3, 0.8),
        each("circle", "red", "small", 0.8, 0.5),
    ),
    key=1,
)


@pytest.mark.parametrize(
    "caption",
    [
        "a red circle",
        "a large red circle",
        "two red circles",
        "two circles",
        "there are two circles",
        "there is a blue square",
        "a large red circle above a small blue square",
        "a blue square below a circle",
        "a red circle to the left of a red circle",
        "two red circles above a blue square",
        "a small circle on the right",
        "a large circle at the top",
        "a square at the bottom",
        "two red circles and a blue square",
        "a blue square and two circles",
        "a red circle and a red circle and a small square",
    ],
)
def test_what_is_so_is_true(caption):
    assert is_true(caption, SCENE)


@pytest.mark.parametrize(
    "caption",
    [
        "a green circle",
        "a large blue square",
        "three red circles",
        "two large circles",
        "two squares",
        "a small red circle to the left of a large red circle",
        "a small red circle above a large red circle",
        "a large red circle below a blue square",
        "a large red circle and a large red circle",
        "a blue square and a blue square",
        "two red circles and a red circle",
        "a large circle on the right",
        "two circles on the left",
        "two circles at the top",
        "a circle in the middle",
        "two red circles to the left of a blue square",
    ],
)
def test_what_is_not_so_is_not_true(caption):
    assert parse(caption) is not None
    assert not is_true(caption, SCENE)


@pytest.mark.parametrize(
    "caption",
    [
        "",
        "red circle",
        "a",
        "a red",
        "a red circles",
        "two red circle",
        "there is two red circles",
        "there are a red circle",
        "a red large circle",
        "a red circle on the",
        "a red circle at the left",
        "a red circle above",
        "a red circle above the blue square",
        "a red circle and",
        "a red circle on the left and a blue square",
        "a red circle . a blue square",
        "a circle and a circle and a square and a square",
        "a red circle a red circle",
        "there is",
    ],
)
def test_what_is_not_of_the_grammar_is_not_true(caption):
    assert parse(caption) is None
    assert not is_true(caption, SCENE)


# A second checker, by regular expressions and brute force over all choices of objects.

ONE = r"(?:a|two|three)(?: (?:small|large))?(?: (?:red|green|blue|yellow|purple|white))? \w+"
WHOLE = re.compile(
    rf"(?:there (?:is|are) )?(?P<a>{ONE})"
    rf"(?: (?P<place>on the left|on the right|at the top|at the bottom|in the middle)"
    rf"| (?P<how>above|below|to the left of|to the right of) (?P<b>{ONE})"
    rf"|(?P<more>(?: and {ONE})+))?"
)
HOW_MANY = {"a": 1, "two": 2, "three": 3}


def choices(phrase, objects):
    """The sets of objects that a phrase may mean."""
    number, *said = phrase.split()
    noun = said.pop()
    if noun not in ("circle", "square", "triangle", "star", "cross"):
        noun = {"crosses": "cross"}.get(noun, noun[:-1])
    same = {n for n, o in enumerate(objects) if {*said, noun} <= {o.shape, o.colour, o.scale}}
    if number == "a":
        return [{n} for n in same]
    return [same] if len(same) == HOW_MANY[number] else []


def near(value):
    return 0 if value < 0.36 else 2 if value > 0.64 else 1


def brute_force(caption, scene):
    found, objects = WHOLE.fullmatch(caption), scene.objects
    if not found:
        return False
    firsts = choices(found["a"], objects)
    if found["place"]:
        where = found["place"].split()[-1]
        wanted = {
            "left": lambda o: near(o.x) == 0,
            "right": lambda o: near(o.x) == 2,
            "top": lambda o: near(o.y) == 0,
            "bottom": lambda o: near(o.y) == 2,
            "middle": lambda o: near(o.x) == near(o.y) == 1,
        }[where]
        return any(all(wanted(objects[n]) for n in chosen) for chosen in firsts)
    if found["how"]:
        key, sign = {
            "above": ("y", 1),
            "below": ("y", -1),
            "to the left of": ("x", 1),
            "to the right of": ("x", -1),
        }[found["how"]]
        return any(
            not one & other
            and all(
                sign * (getattr(objects[m], key) - getattr(objects[n], key)) > 0.12
                for n in one
                for m in other
            )
            for one in firsts
            for other in choices(found["b"], objects)
        )
    lists = [firsts]
    for phrase in (found["more"] or "").split(" and ")[1:]:
        lists.append(choices(phrase, objects))
    return any(
        not any(one & other for one, other in permutations(chosen, 2)) for chosen in product(*lists)
    )


def test_truth_agrees_with_brute_force_on_captions_of_any_scene():
    random = np.random.default_rng(2)
    scenes = [scene_of(s, i, 3) for i in range(150) for s in ("test", COMPOSITIONAL)]
    captions = [caption for scene in scenes for caption in describe(scene)]
    agreed = {True: 0, False: 0}
    for scene in scenes:
        likely = [*random.choice(captions, 40), *describe(scene)]
        objects = scene.objects
        nouns = [f"{o.scale} {o.shape}" for o in objects] + [o.shape for o in objects]
        for _ in range(20):  # sentences that are nearly true
            one, other = random.choice(nouns, 2)
            how = random.choice(["above", "below", "to the left of", "to the right of", "and"])
            likely.append(f"a {one} {how} a {other}")
            number = random.choice(["two", "three"])
            likely.append(f"{number} {str(one).removesuffix('s')}s on the left")
        for caption in likely:
            expected = brute_force(str(caption), scene)
            if parse(str(caption)) is None:
                continue
            assert is_true(str(caption), scene) == expected, (caption, scene)
            agreed[expected] += 1
    assert min(agreed.values()) > 1500


@pytest.mark.parametrize("split", ["train", COMPOSITIONAL])
def test_every_description_is_true_and_different(split):
    for index in range(300):
        scene = scene_of(split, index, 1)
        captions = describe(scene)
        assert len(set(captions)) == 5
        assert all(is_true(caption, scene) and brute_force(caption, scene) for caption in captions)
        assert captions == describe(scene)


def test_descriptions_are_rarely_true_of_another_scene():
    scenes = [scene_of("train", index, 1) for index in range(600)]
    shifted = scenes[1:] + scenes[:1]
    pairs = zip(scenes, shifted, strict=True)
    true = [is_true(caption, other) for scene, other in pairs for caption in describe(scene)]
    assert 0 < np.mean(true) < 0.03


def test_a_noun_means_the_objects_that_make_its_caption_true():
    words = ["a", "large", "red", "circle", "above", "a", "small", "blue", "square"]
    caption = " ".join(words)
    assert noun_objects(caption, words.index("circle"), SCENE) == (0,)
    assert noun_objects(caption, words.index("square"), SCENE) == (1,)
    assert noun_objects(caption, words.index("red"), SCENE) == ()
    assert noun_objects("a red circle", 2, SCENE) == (0, 2)
    assert noun_objects("two circles and a square", 1, SCENE) == (0, 2)
    assert noun_objects("a red circle to the left of a red circle", 2, SCENE) == (0,)
    assert noun_objects("a red circle to the left of a red circle", 9, SCENE) == (2,)
    assert noun_objects("a green circle", 2, SCENE) == ()
    assert noun_objects("circle", 0, SCENE) == ()


def test_the_mask_of_a_noun_is_that_of_its_objects():
    found = noun_object("two circles", 1, SCENE, 64)
    first, _, last = (mask(one, 64) for one in SCENE.objects)
    np.testing.assert_array_equal(found, first | last)
    assert found[16, 16]
    assert not found[51, 19]
    assert noun_object("two circles", 0, SCENE, 64) is None
