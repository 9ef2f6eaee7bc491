from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from landmark.plots.image import feature_map
from landmark.plots.image.feature_map import save_maps, save_overview, strongest

IMAGE = torch.rand(3, 8, 8)


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(feature_map, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def test_the_strongest_maps_are_those_that_vary_most():
    maps = torch.stack([torch.full((2, 2), 9.0), torch.eye(2), 5 * torch.eye(2)])
    assert strongest(maps, 2) == [2, 1]
    assert strongest(maps, 9) == [2, 1, 0]


def test_one_layer_is_drawn_channel_by_channel(drawn):
    maps = torch.rand(70, 4, 4)
    save_maps(IMAGE, "conv", maps, "run", Path("x.png"))
    image, *panels = [axes for axes in drawn[0].get_children()[0].figure.axes if axes.images]
    assert image.get_title() == "image"
    assert len(panels) == 64
    assert torch.equal(torch.tensor(panels[9].images[0].get_array()), maps[9])
    assert drawn[0].get_suptitle() == "run: conv, 70 maps of 4x4, the first 64 of 70"


def test_an_overview_has_a_row_a_layer_with_its_strongest_channels(drawn):
    layers = [("low", torch.rand(5, 6, 6)), ("high", torch.rand(2, 3, 3))]
    save_overview(IMAGE, layers, 3, "run", Path("x.png"))
    panels = [axes for axes in drawn[0].axes if axes.images]
    assert len(panels) == 1 + 3 + 2
    channels = [int(axes.get_title()) for axes in panels[1:4]]
    assert channels == strongest(layers[0][1], 3)
    shown = torch.tensor(panels[4].images[0].get_array())
    assert torch.equal(shown, layers[1][1][strongest(layers[1][1], 1)[0]])
