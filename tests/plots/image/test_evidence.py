from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from landmark.plots.image import evidence
from landmark.plots.image.evidence import save_occlusion, save_saliency
from landmark.probes.image.occlusion import Occlusion

IMAGE = torch.rand(3, 8, 8)


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(evidence, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def test_each_class_has_its_heat_beside_the_image(drawn):
    heat = torch.rand(2, 2)
    save_saliency(IMAGE, [("$cat$", 0.75, heat), ("dog", 0.2, heat)], "title", Path("x.png"))
    image, cat, dog = drawn[0].axes
    assert [axes.get_title() for axes in (image, cat, dog)] == [
        "image",
        "$cat$, 75.0%",
        "dog, 20.0%",
    ]
    assert torch.equal(torch.tensor(cat.images[1].get_array()), heat)
    assert cat.images[1].get_clim() == (0, float(heat.max()))


def test_occlusion_shows_the_belief_at_each_place_and_the_loss_a_pixel(drawn):
    found = Occlusion(0.9, torch.tensor([[0.1, 0.9], [0.9, 1.0]]), (0, 4), (0, 4), 4)
    save_occlusion(IMAGE, found, "cat", "title", Path("x.png"))
    image, belief, lost = drawn[0].axes[:3]
    assert image.get_title() == "cat, 90.0%"
    assert torch.equal(torch.tensor(belief.images[0].get_array()), found.covered)
    drop = torch.tensor(lost.images[1].get_array())
    assert drop[0, 0] == pytest.approx(0.8)
    assert drop[7, 7] == pytest.approx(-0.1)
    assert lost.images[1].get_clim() == pytest.approx((-0.8, 0.8))  # 0 in the middle
