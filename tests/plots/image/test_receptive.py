from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import nn

from landmark.plots.image import receptive
from landmark.plots.image.receptive import chosen, save_fields
from landmark.probes.image.receptive import receptive_fields

NETWORK = nn.Sequential(
    nn.Conv2d(3, 2, 3, 2, 1), nn.Conv2d(2, 2, 1), nn.MaxPool2d(2), nn.Conv2d(2, 2, 3, padding=1)
)
LAYERS = receptive_fields(NETWORK, (3, 32, 32))


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(receptive, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def boxes(axes):
    return sorted(
        (patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    )


def test_layers_that_see_no_more_than_the_one_before_have_no_box():
    assert [layer.name for layer in chosen(LAYERS)] == ["0", "2", "3"]
    assert [layer.name for layer in chosen(LAYERS, 2)] == ["0", "3"]


def test_a_branch_that_sees_less_is_not_chosen():
    small, large = LAYERS[0], LAYERS[3]
    assert chosen([LAYERS[2], small, large, small]) == [LAYERS[2], large]


def test_bars_are_as_long_as_fields_and_boxes_lie_where_middle_units_see(drawn):
    save_fields(LAYERS, torch.rand(3, 32, 32), {}, "title", Path("x.png"))
    bars, seen = drawn[0].axes
    assert [bar.get_width() for bar in bars.patches] == [3, 3, 5, 13]
    # The middle units: 8 of 16 every 2 pixels from -1; 4 of 8 every 4 from -1; the same from -5.
    assert boxes(seen) == [(10.5, 10.5, 13, 13), (14.5, 14.5, 3, 3), (14.5, 14.5, 5, 5)]


def test_gradients_are_drawn_under_the_boxes_of_their_layers(drawn):
    strength = torch.rand(32, 32)
    save_fields(LAYERS, torch.rand(3, 32, 32), {"2": strength}, "title", Path("x.png"))
    panel = drawn[0].axes[-1]
    assert panel.get_title() == "2"
    assert torch.equal(torch.tensor(panel.images[0].get_array()), strength.pow(0.25))
    assert boxes(panel) == [(14.5, 14.5, 5, 5)]
