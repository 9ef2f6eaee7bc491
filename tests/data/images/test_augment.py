import math

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.data.images.augment import AugmentConfig, cut_at_random, cut_out, mix_boxes, vary
from landmark.data.images.draws import Draws
from tests.torchvision_beside import torchvision

adjust = torchvision.transforms.functional
RANDOM = np.random.default_rng(5)
NO_COLOURS = np.zeros((0, 3))


class Fixed:
    """Draws that are what the test says, the same for every sample."""

    def __init__(self, count, **values):
        self.count, self.values = count, values

    def between(self, use, low, high):
        value = self.values.get(use, (low + high) / 2)
        assert low <= value <= high
        return np.full(self.count, value)

    def uniform(self, use, count=1):
        return np.tile(np.broadcast_to(self.values.get(use, 0.5), count), (self.count, 1))

    def normal(self, use, count=1):
        return np.tile(np.broadcast_to(self.values.get(use, 0.0), count), (self.count, 1))


def pictures(*shapes):
    return [RANDOM.integers(1, 256, (*shape, 3), np.uint8) for shape in shapes]


def test_a_padded_crop_is_a_part_of_the_image_with_black_around_and_every_part_occurs():
    (image,) = pictures((6, 6))
    config = AugmentConfig(padding=1)
    found = cut_at_random([image] * 400, config, 6, Draws(1, 0, range(400)))
    around = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    parts = {around[y : y + 6, x : x + 6].tobytes(): (y, x) for y in range(3) for x in range(3)}
    places = [parts[crop.tobytes()] for crop in found]
    assert set(places) == set(parts.values())


def test_without_padding_an_image_of_the_right_size_stays_as_it_is():
    images = pictures((6, 6), (6, 6))
    assert np.array_equal(cut_at_random(images, AugmentConfig(), 6, Draws(1, 0, [0, 1])), images)


def test_larger_images_are_cut_anywhere_and_smaller_ones_lie_in_the_middle():
    large, small = pictures((9, 12), (2, 4))
    found = cut_at_random([large, small] * 200, AugmentConfig(), 6, Draws(1, 0, range(400)))
    parts = {large[y : y + 6, x : x + 6].tobytes(): (y, x) for y in range(4) for x in range(7)}
    assert {parts[crop.tobytes()] for crop in found[::2]} == set(parts.values())
    expected = np.pad(small, ((2, 2), (1, 1), (0, 0)))
    assert all(np.array_equal(crop, expected) for crop in found[1::2])


def test_half_of_the_images_are_mirrored():
    (image,) = pictures((5, 5))
    found = cut_at_random([image] * 400, AugmentConfig(flip=True), 5, Draws(1, 0, range(400)))
    mirrored = [np.array_equal(crop, image[:, ::-1]) for crop in found]
    kept = [np.array_equal(crop, image) for crop in found]
    assert all(a != b for a, b in zip(mirrored, kept, strict=True))
    assert 150 < sum(mirrored) < 250


def test_a_part_of_random_area_is_scaled_to_the_size():
    rows, columns = np.mgrid[0:64, 0:96]
    image = np.stack((rows * 2, columns * 2, rows * 0), -1).astype(np.uint8)
    found = cut_at_random(
        [image] * 300, AugmentConfig(area=(0.2, 0.8)), 16, Draws(1, 0, range(300))
    )
    assert found.shape == (300, 16, 16, 3)
    # Red tells the row, green the column: what a crop spans can be read from it.
    high = (found[:, -1, 8, 0].astype(float) - found[:, 0, 8, 0]) / 2 * 16 / 15
    wide = (found[:, 8, -1, 1].astype(float) - found[:, 8, 0, 1]) / 2 * 16 / 15
    share = high * wide / (64 * 96)
    assert share.min() > 0.16
    assert share.max() < 0.84
    assert share.min() < 0.25
    assert share.max() > 0.7
    inside = (wide < 90) & (high < 60)  # else the image's own edge has the say
    ratio = wide[inside] / high[inside]
    assert ratio.min() > 0.7
    assert ratio.max() < 1.42
    assert ratio.min() < 0.85 < 1.2 < ratio.max()


def test_the_whole_area_is_the_image_scaled_as_pillow_scales_it():
    (image,) = pictures((20, 20))
    config = AugmentConfig(area=(1.0, 1.0))
    draws = Fixed(1, ratio=0.0, x=0.0, y=0.0)
    expected = np.asarray(Image.fromarray(image).resize((8, 8), Image.Resampling.BILINEAR))
    assert np.array_equal(cut_at_random([image], config, 8, draws)[0], expected)


def as_batch(*images):
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 255


def test_a_quarter_turn_is_a_quarter_turn():
    (image,) = pictures((7, 7))
    turned = vary(as_batch(image), AugmentConfig(rotation=90), Fixed(1, rotation=90.0), NO_COLOURS)
    assert torch.allclose(turned, torch.rot90(as_batch(image), 1, (2, 3)), atol=1e-5)


@pytest.mark.parametrize(
    ("angle", "slant", "grow"), [(25.0, 0.0, 1.0), (0.0, 20.0, 1.0), (-10.0, 8.0, 1.2)]
)
def test_turns_slants_and_growth_are_those_of_another_library(angle, slant, grow):
    image = ndimage.gaussian_filter(RANDOM.uniform(0, 1, (21, 21)), 1.5)
    config = AugmentConfig(rotation=30, shear=20, zoom=0.2)
    fixed = Fixed(1, rotation=angle, shear=slant, zoom=(grow - 1) / 0.4 + 0.5)
    found = vary(torch.from_numpy(image)[None, None].float(), config, fixed, NO_COLOURS)
    # scipy reads output pixel p (row, column) from matrix @ (p - centre) + centre.
    turn, slope = math.radians(angle), math.tan(math.radians(slant))
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    across = rotation @ np.array([[1, slope], [0, 1]]) / grow  # of (x, y)
    matrix, centre = across[::-1, ::-1], np.full(2, 10.0)
    offset = centre - matrix @ centre
    expected = ndimage.affine_transform(image, matrix, offset, order=1, mode="grid-constant")
    assert np.allclose(found[0, 0].numpy(), expected, atol=1e-5)


def test_a_shift_of_whole_pixels_moves_the_image_and_lets_black_in():
    (image,) = pictures((6, 8))
    config = AugmentConfig(shift=2)
    moved = vary(as_batch(image), config, Fixed(1, shift=[0.0, 0.75]), NO_COLOURS)
    expected = np.zeros_like(image)
    expected[:-1, 2:] = image[1:, :-2]  # two to the left of the left edge, one up
    assert torch.allclose(moved, as_batch(expected), atol=1e-5)


def test_bending_moves_parts_by_about_the_pixels_asked_for():
    ramp = torch.arange(64.0).view(1, 1, 1, 64).expand(40, 1, 64, 64)
    bent = vary(ramp, AugmentConfig(elastic=2.0), Draws(1, 0, range(40)), NO_COLOURS)
    moved = (bent - ramp)[:, :, 16:48, 16:48]
    assert 1.0 < moved.std() < 2.5
    assert abs(moved.mean()) < 0.5


@pytest.mark.parametrize("factor", [0.6, 1.3])
@pytest.mark.parametrize("kind", ["brightness", "contrast", "saturation"])
def test_colours_change_as_in_torchvision(kind, factor):
    images = as_batch(*pictures((8, 8), (8, 8)))
    found = vary(images, AugmentConfig(**{kind: 0.5}), Fixed(2, **{kind: factor}), NO_COLOURS)
    expected = getattr(adjust, f"adjust_{kind}")(images, factor)
    assert torch.allclose(found, expected, atol=2e-3)  # it rounds the weights of grey to 4 digits


def test_changes_of_colours_come_one_after_the_other_as_in_torchvision():
    images = as_batch(*pictures((8, 8), (8, 8))) / 4 + 0.3  # so that nothing is clipped between
    config = AugmentConfig(brightness=0.5, contrast=0.5, saturation=0.5)
    fixed = Fixed(2, brightness=1.1, contrast=0.7, saturation=1.4)
    expected = adjust.adjust_contrast(adjust.adjust_brightness(images, 1.1), 0.7)
    expected = adjust.adjust_saturation(expected, 1.4)
    assert torch.allclose(vary(images, config, fixed, NO_COLOURS), expected, atol=1e-3)


def test_grey_images_become_brighter_and_flatter():
    images = as_batch(*pictures((8, 8)))[:, :1]
    config = AugmentConfig(brightness=0.5, contrast=0.5)
    found = vary(images, config, Fixed(1, brightness=0.8, contrast=0.6), np.zeros((0, 1)))
    darker = images * 0.8
    assert torch.allclose(found, darker * 0.6 + darker.mean() * 0.4, atol=1e-5)


def test_a_third_of_the_colour_circle_makes_red_green_and_grey_stays_grey():
    images = as_batch(*pictures((3, 3)))
    config = AugmentConfig(hue=0.5)
    turned = vary(images, config, Fixed(1, hue=1 / 3), NO_COLOURS)
    assert torch.allclose(turned, images[:, [2, 0, 1]], atol=1e-5)
    grey = images[:, :1].expand(-1, 3, -1, -1)
    assert torch.allclose(vary(grey, config, Fixed(1, hue=0.2), NO_COLOURS), grey, atol=1e-5)


def test_colour_components_add_one_colour_to_a_whole_image():
    colours = np.array([[0.2, 0.1, 0.0], [0.0, 0.1, -0.1], [0.3, 0.3, 0.3]])
    images = as_batch(*pictures((4, 4)))
    amounts = [1.0, -2.0, 0.5]
    found = vary(images, AugmentConfig(components=0.1), Fixed(1, components=amounts), colours)
    added = 0.1 * (1.0 * colours[0] - 2.0 * colours[1] + 0.5 * colours[2])
    assert torch.allclose(found, images + torch.tensor(added).float().view(1, 3, 1, 1), atol=1e-6)


def test_components_of_many_images_have_the_spread_asked_for():
    colours = np.diag([0.5, 0.2, 0.1])
    draws = Draws(1, 0, range(4000))
    images = torch.zeros(4000, 3, 1, 1)
    found = vary(images, AugmentConfig(components=0.1), draws, colours)[:, :, 0, 0]
    assert torch.allclose(found.std(0), torch.tensor([0.05, 0.02, 0.01]), rtol=0.05)


def test_cutout_blanks_a_square_that_may_reach_beyond_the_image():
    ones = torch.ones(500, 2, 8, 8)
    found = cut_out(ones, 4, Draws(1, 0, range(500)))
    assert torch.equal(found[:, 0], found[:, 1])
    blank = found[:, 0] == 0
    areas = blank.sum((1, 2))
    assert areas.max() == 16
    assert areas.min() == 4  # its middle is in a corner
    for one in blank:
        rows, columns = one.any(1), one.any(0)
        assert torch.equal(one, rows[:, None] & columns[None])  # a rectangle
    assert blank.any(0).all()


def test_grey_images_have_no_colours_to_change():
    with pytest.raises(UserError, match=r"augment\.hue: these images are grey"):
        AugmentConfig(hue=0.1).check(1)
    AugmentConfig(hue=0.1).check(3)
    AugmentConfig(brightness=0.1, components=0.1).check(1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"area": [0.9, 0.2]}, "minimum and maximum"),
        ({"area": [0.5, 1.0], "padding": 2}, "two ways to crop"),
        ({"mixup": 1.5}, "mixup"),
        ({"cutuot": 4}, "did you mean cutout"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        build(AugmentConfig, values, Provenance("recipe"))


def test_cutmix_pastes_the_papers_box_and_counts_its_pixels():
    """Appendix A: sides sqrt(1 - lambda), a centre anywhere, cut off at the edges."""
    count, height, width, alpha = 50, 12, 20, 1.0
    draws = Draws(3, 1, range(count))
    images, others = torch.zeros(count, 3, height, width), torch.ones(count, 3, height, width)
    mixed, shares = mix_boxes(images, others, alpha, draws)
    share = 1 - mixed.mean((1, 2, 3), dtype=torch.float64).numpy()
    np.testing.assert_allclose(shares, share, atol=1e-12)
    reach = 0.5 * np.sqrt(1 - draws.beta("cutmix", alpha))
    for index in range(count):
        row = int(draws.uniform("cutmix y")[index, 0] * height)
        column = int(draws.uniform("cutmix x")[index, 0] * width)
        high, wide = int(reach[index] * height), int(reach[index] * width)
        expected = np.zeros((height, width))
        for y in range(max(0, row - high), min(height, row + high)):
            for x in range(max(0, column - wide), min(width, column + wide)):
                expected[y, x] = 1
        np.testing.assert_array_equal(mixed[index, 0].numpy(), expected)


def test_crops_of_random_area_are_scaled_bicubically_where_that_is_asked_for():
    (image,) = pictures((40, 40))
    config, draws = AugmentConfig(area=(1.0, 1.0)), Fixed(1, area=1.0, ratio=0.0)
    (found,) = cut_at_random([image], config, 16, draws, "bicubic")
    mode = torchvision.transforms.InterpolationMode.BICUBIC
    expected = adjust.resize(Image.fromarray(image), [16, 16], mode)
    np.testing.assert_array_equal(found, np.asarray(expected))
    (bilinear,) = cut_at_random([image], config, 16, draws)
    assert not np.array_equal(found, bilinear)
