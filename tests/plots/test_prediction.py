from pathlib import Path

import pytest
from matplotlib.figure import Figure

from landmark.plots import prediction
from landmark.plots.prediction import Row, save_predictions

ROWS = [
    Row("$a", 0.25, 2, 2.0, [("b", 0.5), ("$a", 0.25)]),
    Row(" c", 0.01, 7, 6.64, [("\n", 0.9), ("e", 0.02)]),
    Row(None, None, None, None, [("f", 0.6), ("g", 0.2)]),
]


@pytest.fixture
def panels(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(prediction, "save_figure", lambda figure, path: figures.append(figure))
    save_predictions(ROWS, "$title", Path("x.png"))
    return figures[0].axes


def test_surprise_is_a_bar_a_place_and_none_where_the_text_has_ended(panels):
    assert [bar.get_height() for bar in panels[0].patches] == [2.0, 6.64, 0.0]


def test_expectations_are_a_table_in_which_what_came_is_framed(panels):
    table = panels[1]
    assert table.images[0].get_array().tolist() == [[0.5, 0.9, 0.6], [0.25, 0.02, 0.2]]
    assert [text.get_text() for text in table.texts] == ["b", "$a", "↵", "e", "f", "g"]
    assert not any(text.get_parse_math() for text in table.texts)
    (frame,) = table.patches
    assert (round(frame.get_x() + 0.47), round(frame.get_y() + 0.47)) == (0, 1)
    assert [text.get_text() for text in table.get_xticklabels()] == ["$a", "␣c", "?"]
