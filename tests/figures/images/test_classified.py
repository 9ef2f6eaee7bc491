from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from landmark.figures.images import classified
from landmark.figures.images.classified import save_classified
from landmark.figures.style import COLOURS
from landmark.tasks.image_classification.pipeline import Classified, ClassPrediction

RANDOM = np.random.default_rng(1)
GREY, COLOUR = RANDOM.integers(0, 256, (6, 5, 1)), RANDOM.integers(0, 256, (4, 4, 3))


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(classified, "save_picture", lambda figure, path: figures.append(figure))
    return figures


def test_bars_are_as_long_as_probable_and_the_right_one_has_a_colour_of_its_own(drawn):
    cat = Classified("a/1.png", (ClassPrediction("dog", 0.7), ClassPrediction("cat", 0.25)))
    unknown = Classified("b/2.png", (ClassPrediction("dog", 0.6), ClassPrediction("cat", 0.4)))
    save_classified([cat, unknown], [GREY, COLOUR], Path("x.png"), ["cat", None])
    first, second, bars, others = drawn[0].axes
    assert [axes.get_title() for axes in (first, second)] == ["cat", "2.png"]
    np.testing.assert_array_equal(first.images[0].get_array(), GREY[..., 0])
    np.testing.assert_array_equal(second.images[0].get_array(), COLOUR)
    assert [bar.get_width() for bar in bars.patches] == [0.7, 0.25]
    assert [text.get_text() for text in bars.texts] == ["dog  70.0 %", "cat  25.0 %"]
    wrong, right = (to_hex(bar.get_facecolor()) for bar in bars.patches)
    assert right == to_hex(COLOURS[4])
    assert {to_hex(bar.get_facecolor()) for bar in others.patches} == {wrong} != {right}
    top, bottom = (bar.get_y() for bar in bars.patches)
    assert bars.get_ylim()[0] > bars.get_ylim()[1]  # downwards: the best is on top
    assert top < bottom


def test_more_images_than_a_row_holds_go_below(drawn):
    one = Classified("1.png", (ClassPrediction("cat", 1.0),))
    save_classified([one] * 5, [GREY] * 5, Path("x.png"), [None] * 5)
    axes = drawn[0].axes
    assert len(axes) == 2 * 2 * 4
    shown = [len(part.images) for part in axes]
    assert shown == [1] * 4 + [0] * 4 + [1] + [0] * 7


def test_a_long_name_does_not_run_into_the_next_panel(drawn):
    name = "German shepherd, German shepherd dog, alsatian"
    save_classified(
        [Classified("1.png", (ClassPrediction(name, 0.9),))], [GREY], Path("x.png"), [None]
    )
    (text,) = drawn[0].axes[1].texts
    assert text.get_text() == "German shephe…og, alsatian  90.0 %"
