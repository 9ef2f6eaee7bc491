"""Images of a run as its network reads them, and pictures to draw on."""

import numpy as np
import pytest
import torch
from PIL import Image

from landmark.core.errors import UserError
from landmark.figures.images.viewer import open_viewer, read_picture


def test_without_a_file_there_is_a_flower():
    picture = read_picture(None)
    assert picture.shape == (3, 427, 640)
    assert 0 <= float(picture.min()) < float(picture.max()) <= 1


def test_a_file_is_read_as_it_is_or_its_middle_scaled(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 10, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    whole = read_picture(tmp_path / "a.png")
    assert torch.equal(whole, torch.from_numpy(pixels).permute(2, 0, 1).float() / 255)
    middle = read_picture(tmp_path / "a.png", side=6)
    assert torch.equal(middle, whole[:, :, 2:8])
    assert read_picture(tmp_path / "a.png", side=4, channels=1).shape == (1, 4, 4)


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        read_picture(tmp_path / "nowhere.png")


def test_an_image_of_the_run_is_shown_as_it_is_and_read_normalised(image_runs):
    viewer = open_viewer(image_runs["lenet"], device="cpu")
    view = viewer.view("valid:2")
    assert view.shown.shape == (1, 28, 28)
    assert view.label in viewer.form.names
    back = view.given[0] * viewer.form.std[0] + viewer.form.mean[0]
    assert (back - view.shown).abs().max() < 1e-5
    assert float(viewer.believe(view).sum()) == pytest.approx(1, abs=1e-5)
