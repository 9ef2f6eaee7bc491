from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.image import imread

from landmark.plots import attention
from landmark.plots.attention import label, save_head, save_heads, save_view

NAMES = ["$x$", " it", "\n", " "]
WEIGHTS = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(1)).softmax(-1)


@pytest.fixture
def drawn(monkeypatch):
    """A figure in place of a file."""
    figures: list[Figure] = []
    monkeypatch.setattr(attention, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def test_labels_show_what_does_not_print():
    assert [label(name) for name in NAMES] == ["$x$", "it", "↵", "␣"]


def test_one_head_is_a_heat_map_with_every_token_named(drawn):
    save_head(NAMES, WEIGHTS[0, 1], "$title$", Path("x.png"))
    axes = drawn[0].axes[0]
    assert torch.equal(torch.tensor(axes.images[0].get_array()), WEIGHTS[0, 1])
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [text.get_text() for text in labels] == ["$x$", "it", "↵", "␣"]
        assert not any(text.get_parse_math() for text in labels)


def test_all_heads_stand_in_rows_of_a_layer(drawn):
    save_heads(NAMES, WEIGHTS, [1, 2], [1, 2, 3], "title", Path("x.png"))
    panels = [axes for axes in drawn[0].axes if axes.images and axes.get_title()]
    assert [axes.get_title() for axes in panels] == [
        f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)
    ]
    for number, axes in enumerate(panels):
        shown = torch.tensor(axes.images[0].get_array())
        assert torch.equal(shown, WEIGHTS[number // 3, number % 3])


def test_a_long_text_has_no_names_in_small_panels(drawn):
    save_heads(["a"] * 50, torch.eye(50).expand(1, 5, 50, 50), [3], [1, 2, 3, 4, 5], "", Path("x"))
    panels = [axes for axes in drawn[0].axes if axes.get_title()]
    assert len(panels) == 5
    assert all(len(axes.get_xticklabels()) == 0 for axes in panels)


def test_what_a_token_looks_at_is_a_row_of_bars_a_head(drawn):
    save_view(NAMES, WEIGHTS[1, :, 2], 2, [1, 2, 3], "title", Path("x.png"))
    panels = drawn[0].axes
    for head, axes in enumerate(panels):
        heights = [bar.get_height() for bar in axes.patches]
        assert heights == pytest.approx(WEIGHTS[1, head, 2].tolist())
        red = [bar.get_facecolor() for bar in axes.patches].index(
            axes.patches[int(WEIGHTS[1, head, 2].argmax())].get_facecolor()
        )
        assert red == int(WEIGHTS[1, head, 2].argmax())
        assert axes.get_ylabel() == str(head + 1)
    assert panels[-1].get_xticklabels()[2].get_fontweight() == "bold"


def test_the_picture_is_written(tmp_path):
    save_head(NAMES, WEIGHTS[0, 0], "title", tmp_path / "a.png")
    assert imread(tmp_path / "a.png").std() > 0
