import pytest
import torch
from matplotlib.image import imread
from PIL import Image

from landmark.core.errors import UserError
from landmark.figures.images.filters import Filtered, draw
from landmark.probes.image.filter import HAND_MADE, apply_kernel, kernel
from tests.figures.drawing import as_json, make


def test_hand_made_kernels_are_applied_to_a_picture(tmp_path):
    picture, grey = tmp_path / "f.png", tmp_path / "grey.png"
    Image.new("RGB", (12, 9), (90, 90, 90)).save(grey)
    drawn = make("filters", image=grey, output=picture)
    rows = dict(line.rsplit(maxsplit=1) for line in drawn.rows[1:])
    factors = {"identity": 1, "edge": 0, "blur": 1, "lighten": 4 / 3, "darken": 2 / 3}
    for name, factor in factors.items():
        assert float(rows[name]) == pytest.approx(factor * 90 / 255, abs=6e-4)
    assert imread(picture).std() > 0
    record = as_json(make("filters", image=grey, kernel=["blur", "edge"], output=picture))
    assert list(record["means"]) == list(record["kernels_in_ninths"]) == ["blur", "edge"]
    assert record["mean"] == pytest.approx(90 / 255)


def test_mistakes_are_named(tmp_path):
    output = tmp_path / "f.png"
    with pytest.raises(UserError, match=r"unknown kernel 'blurr': did you mean blur\?"):
        make("filters", kernel=["blurr"], output=output)
    with pytest.raises(UserError, match=r"nowhere\.png"):
        make("filters", image=tmp_path / "nowhere.png", output=output)


def test_all_eight_stand_after_the_image_with_their_numbers():
    image = torch.rand(3, 6, 8)
    filtered = {name: apply_kernel(image, kernel(name)) for name in HAND_MADE}
    panels = [axes for axes in draw(Filtered(image, filtered)).axes if axes.images]
    assert [axes.get_title() for axes in panels] == ["image", *HAND_MADE]
    shown = torch.tensor(panels[3].images[0].get_array())
    torch.testing.assert_close(shown, filtered["blur"].permute(1, 2, 0))
    assert [text.get_text() for text in panels[2].texts] == [
        "  0   9   0\n  9 -36   9\n  0   9   0"
    ]
