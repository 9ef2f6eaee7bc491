import numpy as np
import pytest
import torch
from matplotlib.image import imread

from landmark.plots import gate
from landmark.plots.gate import (
    COLUMNS,
    ROWS,
    lay_out,
    liveliest_start,
    readable,
    save_cells,
    save_gates,
)
from landmark.probes.gate import Finding, GateView

PIECES = ["a", " ", "$", "$", "\n"]
VIEW = GateView(
    2,
    (7, 3),
    {"forget": torch.rand(3, 5), "cell": torch.tensor([[-4.0, 1, 1, 1, 1]] * 3)},
)


@pytest.fixture
def kept(monkeypatch):
    """The figures that would be written."""
    figures = []
    monkeypatch.setattr(gate, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def finding(name, activity):
    return Finding(name, 1, 3, 0.9, 0.8, activity)


def test_each_gate_is_a_heat_map_over_the_characters(kept, tmp_path):
    save_gates(VIEW, PIECES, "a $title$", tmp_path / "g.png")
    forget, cell = kept[0].axes[:2]
    for axes, (name, values) in zip((forget, cell), VIEW.gates.items(), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), values.numpy())
        assert axes.get_ylabel().startswith(name)
        assert [label.get_text() for label in axes.get_yticklabels()] == ["7", "3", "mean"]
    assert forget.images[0].get_clim() == (0, 1)
    assert cell.images[0].get_clim() == (-4, 4)  # zero is in the middle
    assert [label.get_text() for label in cell.get_xticklabels()] == ["a", "␣", "$", "$", "↵"]


def test_gates_and_cells_are_written_dollars_and_all(tmp_path):
    save_gates(VIEW, PIECES, "$title$", tmp_path / "gates.png")
    save_cells(
        [finding("$x$", torch.zeros(5))], PIECES, {"$x$": torch.arange(5.0)}, tmp_path / "c.png"
    )
    for name in ("gates.png", "c.png"):
        assert imread(tmp_path / name).shape[0] > 200


def test_what_does_not_print_is_shown_by_a_sign():
    assert readable("a b\n\t\x00") == "a␣b↵⇥·"


def test_text_is_laid_out_in_lines_with_a_colour_for_each_character():
    pieces = ["ab", "\n", "c" * (COLUMNS + 1), "", "d"]
    characters, colours = lay_out(
        pieces, torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5], dtype=torch.float64)
    )
    assert ["".join(row) for row in characters] == ["ab\n", "c" * COLUMNS, "cd"]
    assert colours[0, :3].tolist() == [0.1, 0.1, 0.2]
    assert (colours[1] == 0.3).all()
    assert colours[2, :2].tolist() == [0.3, 0.5]
    assert np.isnan(colours[0, 3:]).all()
    assert np.isnan(colours[3:]).all()


def test_no_more_text_is_laid_out_than_there_is_room_for():
    characters, colours = lay_out(["a\n"] * (ROWS + 5), torch.ones(ROWS + 5))
    assert ["".join(row) for row in characters] == ["a\n"] * ROWS
    assert np.isfinite(colours).sum() == 2 * ROWS


def test_the_stretch_begins_at_a_line_before_the_property_varies_most():
    pieces = [*("x" * 9 + "\n") * 200]
    values = torch.zeros(2000, dtype=torch.float64)
    values[1000:1400:2] = 1.0
    start = liveliest_start(values, pieces)
    assert start in range(980, 1001)
    assert pieces[start - 1] == "\n"
    assert liveliest_start(torch.zeros(5), PIECES) == 0
    unbroken = liveliest_start(values, ["x"] * 2000)
    assert unbroken in range(980, 1020)  # rather than far away from it


def test_each_property_has_its_coloured_text(kept, tmp_path):
    pieces = [*"one\ntwo "]
    values = torch.linspace(-1, 1, 8)
    found = [finding("line position", values), finding("inside quotes", -values)]
    properties = {"line position": torch.arange(8.0), "inside quotes": torch.ones(8)}
    save_cells(found, pieces, properties, tmp_path / "c.png")
    for axes, sign in zip(kept[0].axes[:2], (1, -1), strict=True):
        np.testing.assert_allclose(
            axes.images[0].get_array()[1, :4].filled(np.nan), sign * values[4:].numpy(), rtol=1e-6
        )
        assert [text.get_text() for text in axes.texts] == [*"one↵two"]
        assert axes.texts[4].get_position() == (0, 1)
    assert kept[0].axes[0].get_title("left") == (
        "line position: layer 1, unit 3; correlation 0.80 on this half of the text"
    )
