import numpy as np
import pytest
import torch

from landmark.core.errors import DamagedError
from landmark.data.images.form import ImageForm, as_tensor, center_crop, cut, measure
from tests.torchvision_beside import torchvision

RANDOM = np.random.default_rng(7)
FORM = ImageForm(("a", "b"), mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.5))


def picture(*shape):
    return RANDOM.integers(0, 256, shape, np.uint8)


def test_it_is_written_and_read_and_damage_is_noticed(tmp_path):
    form = ImageForm(("c", "ä"), 1, 28, "pad", (0.1,), (0.3,), ((0.3,),))
    form.save(tmp_path / "classes.json")
    assert ImageForm.load(tmp_path / "classes.json") == form
    text = (tmp_path / "classes.json").read_text()
    (tmp_path / "classes.json").write_text(text.replace("0.3", "0.4"))
    with pytest.raises(DamagedError, match=r"classes\.json: damaged"):
        ImageForm.load(tmp_path / "classes.json")


def test_normalising_is_torchvisions_from_bytes_and_from_shares_and_can_be_undone():
    pixels = picture(2, 5, 6, 3)
    images = as_tensor(pixels)
    shares = images.float() / 255
    expected = torchvision.transforms.functional.normalize(shares, FORM.mean, FORM.std)
    assert torch.allclose(FORM.normalise(images), expected, atol=1e-5)
    assert torch.allclose(FORM.normalise(shares), expected, atol=1e-5)
    assert torch.allclose(FORM.restore(FORM.normalise(images)), shares, atol=1e-5)


def test_channels_stay_last_in_memory():
    images = FORM.normalise(as_tensor(picture(4, 8, 8, 3)))
    assert images.shape == (4, 3, 8, 8)
    assert images.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(9, 7), (4, 12), (3, 3), (6, 6), (5, 8), (11, 13)])
def test_the_middle_is_torchvisions_crop_with_black_around(shape):
    image = picture(*shape, 3)
    given = torch.from_numpy(image).permute(2, 0, 1)
    found = torch.from_numpy(center_crop(image, 6).copy()).permute(2, 0, 1)
    expected = torchvision.transforms.functional.center_crop(given, [6, 6])
    assert torch.equal(found, expected)


def test_a_square_beyond_every_edge_is_black_there():
    image = picture(4, 4, 1)
    around = np.pad(image, ((3, 3), (3, 3), (0, 0)))
    for top in range(-3, 4):
        for left in range(-3, 4):
            expected = around[top + 3 : top + 6, left + 3 : left + 6]
            assert np.array_equal(cut(image, top, left, 3), expected)


def test_ten_crops_are_torchvisions():
    image = picture(12, 10, 3)
    found = FORM.ten_crops([image, image], 8)
    assert found.shape == (20, 3, 8, 8)
    given = torch.from_numpy(image).permute(2, 0, 1)
    crops = torchvision.transforms.functional.ten_crop(given, 8)  # the mirrored ones last
    expected = FORM.normalise(torch.stack(crops))
    same = torch.isclose(found[:10, None], expected[None]).flatten(2).all(2)
    assert same.sum() == 10
    assert torch.equal(same.any(0), torch.ones(10, dtype=torch.bool))
    assert torch.allclose(found[1:10:2], found[0:10:2].flip(3))
    assert torch.equal(found[:10], found[10:])


def test_colours_are_measured_as_numpy_does_it():
    blocks = [picture(50, 3) // 2, picture(70, 3)]
    pixels = np.concatenate(blocks) / 255
    found = measure(blocks)
    assert np.allclose(found["mean"], pixels.mean(0))
    assert np.allclose(found["std"], pixels.std(0))
    colours = np.array(found["colours"])
    covariance = np.cov(pixels.T, bias=True)
    assert np.allclose(colours.T @ colours, covariance)  # a full set of components
    assert np.allclose(colours @ colours.T, np.diag(np.diag(colours @ colours.T)))  # orthogonal


def test_a_single_colour_is_not_divided_by_nothing():
    found = measure([np.full((9, 1), 51, np.uint8)])
    assert found["mean"] == pytest.approx((0.2,))
    assert found["std"] == (1.0,)
