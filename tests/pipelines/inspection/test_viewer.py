"""Pictures to draw on; the viewer of a run is tested with the figures in tests/cli/figure/image."""

import numpy as np
import pytest
import torch
from PIL import Image

from landmark.core.errors import UserError
from landmark.pipelines.inspection.viewer import read_picture


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
