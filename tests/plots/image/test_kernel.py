from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.image import imread

from landmark.plots.image import kernel
from landmark.plots.image.kernel import pictures, save_components, save_kernels, visible


def test_zero_is_middle_grey_and_the_largest_weight_black_or_white():
    weights = torch.tensor([[[[0.0, 2.0, -1.0]]], [[[0.0, 0.1, -0.2]]], [[[0.0, 0.0, 0.0]]]])
    assert visible(weights).flatten().tolist() == pytest.approx(
        [0.5, 1.0, 0.25, 0.5, 0.75, 0.0, 0.5, 0.5, 0.5]
    )


def test_alexnets_96_kernels_stand_in_six_rows_of_sixteen():
    panels, across = pictures(torch.randn(96, 3, 11, 11))
    assert panels.shape == (96, 3, 11, 11)
    assert across == 16


def test_kernels_of_many_channels_are_shown_slice_by_slice():
    weights = torch.randn(20, 6, 3, 3)
    panels, across = pictures(weights)
    assert (panels.shape, across) == ((16 * 6, 1, 3, 3), 6)
    expected = visible(weights[:16])[2, 4]
    torch.testing.assert_close(panels[2 * 6 + 4, 0], expected)


def test_the_picture_is_written(tmp_path):
    save_kernels(torch.randn(10, 1, 5, 5), "$title$", tmp_path / "a.png")
    assert imread(tmp_path / "a.png").std() > 0


def test_components_are_drawn_with_their_shares(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(kernel, "save_figure", lambda figure, path: figures.append(figure))
    shares = torch.tensor([0.5, 0.25, 0.125])
    save_components(torch.randn(3, 3, 4, 4), shares, "title", Path("x.png"))
    bars = figures[0].axes[1]
    assert [bar.get_height() for bar in bars.patches] == shares.tolist()
    assert bars.lines[0].get_ydata().tolist() == [0.5, 0.75, 0.875]
