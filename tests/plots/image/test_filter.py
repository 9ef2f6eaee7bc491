from pathlib import Path

import torch
from matplotlib.figure import Figure

from landmark.plots.image import filter as module
from landmark.plots.image.filter import save_filters
from landmark.probes.image.filter import HAND_MADE, apply_kernel, kernel


def test_all_eight_stand_after_the_image_with_their_numbers(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(module, "save_figure", lambda figure, path: figures.append(figure))
    image = torch.rand(3, 6, 8)
    filtered = [(name, apply_kernel(image, kernel(name))) for name in HAND_MADE]
    save_filters(image, filtered, Path("x.png"))
    panels = [axes for axes in figures[0].axes if axes.images]
    assert [axes.get_title() for axes in panels] == ["image", *HAND_MADE]
    blur = panels[3]
    torch.testing.assert_close(
        torch.tensor(blur.images[0].get_array()), filtered[2][1].permute(1, 2, 0)
    )
    assert [text.get_text() for text in panels[2].texts] == [
        "  0   9   0\n  9 -36   9\n  0   9   0"
    ]
