from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from landmark.plots.image import patch
from landmark.plots.image.patch import save_patches, save_positions
from landmark.probes.image.patch import PatchHead

IMAGE = torch.rand(1, 8, 8)


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(patch, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def test_heads_are_drawn_over_the_image_and_their_distances_beside_it(drawn):
    flow, views = torch.rand(2, 2), [(f"head {n}", torch.rand(2, 2)) for n in (1, 2)]
    heads = [PatchHead(1, 1, 2.0, 0.1, 1.0), PatchHead(2, 1, 5.0, 0.1, 1.0)]
    save_patches(IMAGE, flow, views, heads, (1, 0), "title", Path("x.png"))
    picture, rolled, distances, first, second = drawn[0].axes[:5]
    assert torch.equal(torch.tensor(rolled.images[1].get_array()), flow)
    assert torch.equal(torch.tensor(second.images[1].get_array()), views[1][1])
    assert (first.get_title(), second.get_title()) == ("head 1", "head 2")
    assert distances.lines[0].get_xydata().tolist() == [[1, 2], [2, 5]]
    (frame,) = picture.patches  # the lower left of four patches of 4 pixels
    assert (frame.get_x(), frame.get_y(), frame.get_width()) == (-0.5, 3.5, 4)


def test_positions_are_a_square_of_squares(drawn):
    similarity = torch.rand(3, 3, 3, 3)
    save_positions(similarity, "title", Path("x.png"))
    panels = drawn[0].axes[:9]
    for number, axes in enumerate(panels):
        shown = torch.tensor(axes.images[0].get_array())
        assert torch.equal(shown, similarity[number // 3, number % 3])
