from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from landmark.figures.images import confusion
from landmark.figures.images.confusion import save_confusion


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(confusion, "save_picture", lambda figure, path: figures.append(figure))
    return figures


def test_cells_hold_counts_and_are_as_dark_as_their_share_of_the_row(drawn):
    counts = np.array([[3, 1, 0], [0, 0, 0], [5, 0, 5]])
    save_confusion(counts, ["cat", "$dog$", "bird"], "title", Path("x.png"))
    axes = drawn[0].axes[0]
    cells = {text.get_position(): text for text in axes.texts}
    found = {(row, column): cell.get_text() for (column, row), cell in cells.items()}
    assert found == {(0, 0): "3", (0, 1): "1", (2, 0): "5", (2, 2): "5"}
    colours = {place: cell.get_color() for place, cell in cells.items()}
    assert colours == {(0, 0): "white", (1, 0): "black", (0, 2): "black", (2, 2): "black"}
    shares = [[0.75, 0.25, 0], [0, 0, 0], [0.5, 0, 0.5]]
    np.testing.assert_allclose(axes.images[0].get_array(), shares)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["cat", "$dog$", "bird"]


@pytest.mark.parametrize(("count", "cells", "names"), [(20, 20, 20), (21, 0, 21), (61, 0, 0)])
def test_what_could_not_be_read_is_not_written(drawn, count, cells, names):
    words = [f"class {number}" for number in range(count)]
    save_confusion(np.eye(count, dtype=np.int64), words, "title", Path("x.png"))
    axes = drawn[0].axes[0]
    assert len(axes.texts) == cells
    assert sum(label.get_text() in words for label in axes.get_yticklabels()) == names
