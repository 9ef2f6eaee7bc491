import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from landmark.data.captions.drawing import coverage, draw, mask
from landmark.data.captions.scenes import SHAPES, Scene, SceneObject, scene_of

RGB = {
    "red": (0.87, 0.15, 0.15),
    "green": (0.15, 0.68, 0.22),
    "blue": (0.17, 0.33, 0.9),
    "yellow": (0.95, 0.85, 0.15),
    "purple": (0.6, 0.22, 0.75),
    "white": (0.96, 0.96, 0.96),
}


def test_a_circle_covers_what_pillow_draws_at_sixteen_times_the_size():
    circle = SceneObject("circle", "red", "large", 0.4, 0.55, 0.2)
    canvas = Image.new("L", (1024, 1024))
    box = [(at + sign * 0.2) * 1024 for sign in (-1, 1) for at in (0.4, 0.55)]
    ImageDraw.Draw(canvas).ellipse(box, fill=255)
    theirs = np.asarray(canvas, float).reshape(64, 16, 64, 16).mean((1, 3)) / 255
    assert abs(coverage(circle, 64) - theirs).max() < 0.1
    assert coverage(circle, 64).sum() == pytest.approx(math.pi * 0.2**2 * 64**2, rel=0.01)


@pytest.mark.parametrize(("shape", "corners"), [("triangle", 3), ("square", 4)])
def test_a_polygon_covers_what_pillow_draws(shape, corners):
    each = SceneObject(shape, "red", "large", 0.5, 0.5, 0.2)
    radius = 0.2 * min(1.35, math.sqrt(2 * math.pi / (corners * math.sin(2 * math.pi / corners))))
    start = -math.pi / 2 + (math.pi / 4 if shape == "square" else 0)
    angles = [start + 2 * math.pi * k / corners for k in range(corners)]
    points = [
        ((0.5 + radius * math.cos(a)) * 1024, (0.5 + radius * math.sin(a)) * 1024) for a in angles
    ]
    canvas = Image.new("L", (1024, 1024))
    ImageDraw.Draw(canvas).polygon(points, fill=255)
    theirs = np.asarray(canvas, float).reshape(64, 16, 64, 16).mean((1, 3)) / 255
    assert abs(coverage(each, 64) - theirs).max() < 0.35  # at a corner
    assert abs(coverage(each, 64) - theirs).mean() < 0.003


def test_a_star_has_five_points_and_a_cross_four_arms():
    """On a circle around the centre, between the inner and the outer corners."""
    for shape, radius, arms in (("star", 0.9, 5), ("cross", 0.9, 4)):
        each = SceneObject(shape, "red", "large", 0.5, 0.5, 0.2)
        inside = mask(each, 256)
        angles = np.linspace(0, 2 * math.pi, 720, endpoint=False)
        rows = ((0.5 + 0.2 * radius * np.sin(angles)) * 256).astype(int)
        columns = ((0.5 + 0.2 * radius * np.cos(angles)) * 256).astype(int)
        seen = inside[rows, columns].astype(int)
        assert (np.diff(np.append(seen, seen[0])) == 1).sum() == arms


def test_rotation_turns_a_shape_and_keeps_its_area():
    straight = SceneObject("cross", "red", "large", 0.5, 0.5, 0.2)
    quarter = SceneObject("cross", "red", "large", 0.5, 0.5, 0.2, math.pi / 2)
    tilted = SceneObject("cross", "red", "large", 0.5, 0.5, 0.2, 0.25)
    np.testing.assert_allclose(coverage(straight, 96), coverage(quarter, 96), atol=1e-9)
    assert abs(coverage(straight, 96) - coverage(tilted, 96)).max() > 0.5
    assert coverage(tilted, 96).sum() == pytest.approx(coverage(straight, 96).sum(), rel=0.01)


def test_inside_its_mask_an_object_has_its_colour_and_outside_none_has():
    for index in range(60):
        scene = scene_of("train", index, 1)
        pixels = draw(scene, 64) / 255
        for each in scene.objects:
            mean = pixels[mask(each, 64)].mean(0)
            nearest = min(RGB, key=lambda name: float(((mean - RGB[name]) ** 2).sum()))
            assert nearest == each.colour
        outside = ~np.any([coverage(each, 64) > 0 for each in scene.objects], axis=0)
        assert pixels[outside].mean(0).max() < 0.5


def test_objects_do_not_overlap_at_any_size():
    for index in range(40):
        scene = scene_of("train", index, 1)
        for side in (32, 96):
            assert sum(mask(each, side).astype(int) for each in scene.objects).max() == 1


def test_backgrounds_and_noise_differ_from_scene_to_scene():
    first, second = (draw(Scene((), key), 64) for key in (1, 2))
    assert abs(first.astype(int) - second).mean() > 2
    assert np.diff(first.astype(int), axis=0).std() > 1
    np.testing.assert_array_equal(first, draw(Scene((), 1), 64))


@pytest.mark.parametrize("shape", SHAPES)
def test_an_object_lies_around_its_centre(shape):
    each = SceneObject(shape, "blue", "small", 0.3, 0.7, 0.1, 0.2)
    rows, columns = np.nonzero(mask(each, 128))
    assert columns.mean() / 128 == pytest.approx(0.3, abs=0.02)
    assert rows.mean() / 128 == pytest.approx(0.7, abs=0.02)
