"""Units of very small language models that track something, and the text in their colours."""

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from landmark.figures.recurrent.cells import COLUMNS, ROWS, Cells, draw, lay_out, liveliest_start
from landmark.figures.style import readable
from landmark.probes.gate import CellSearch, Finding

PIECES = ["a", " ", "$", "$", "\n"]


def cells(findings, pieces, properties):
    return Cells(len(pieces), CellSearch(findings, {}, 0), pieces, properties)


def finding(name, activity):
    return Finding(name, 1, 3, 0.9, 0.8, activity)


def test_cells_are_searched_for_and_missing_properties_named(make, runs, text, tmp_path):
    picture = tmp_path / "out.png"
    head, *rows = make("cells", run=runs / "lstm", file=text, output=picture).rows
    assert head.split() == ["property", "layer", "unit", "first", "half", "second", "half"]
    names = ["inside quotes", "line position", "indentation", "inside brackets"]
    assert [row[:18].strip() for row in rows] == names
    for row in rows:
        layer, unit, first, second = row[18:].split()
        assert int(layer) in (1, 2)
        assert 1 <= int(unit) <= 12
        assert abs(float(first)) > 0.2
        assert abs(float(second)) <= 1
    assert imread(picture).size > 0
    plain = tmp_path / "plain.txt"
    plain.write_text("one two three\n" * 20)
    assert make("cells", run=runs / "gru", file=plain, output=picture).rows[2:] == [
        f"{name}: does not occur in the text"
        for name in ("inside quotes", "indentation", "inside brackets")
    ]


@pytest.mark.parametrize("name", ["lstm", "subwords"])
def test_no_more_is_read_than_asked_for(make, runs, text, tmp_path, name):
    made = make("cells", run=runs / name, file=text, output=tmp_path / "c.png", length=900)
    assert made.warnings == (f"{text}: only its first 900 characters are read (--length)",)
    record = made.json()
    assert list(record) == ["figure", "tokens", "findings", "missing"]
    assert record["tokens"] == 900 if name == "lstm" else 100 < record["tokens"] < 900
    assert record["missing"] == {}
    for found in record["findings"]:
        assert found.keys() == {"property", "layer", "unit", "chosen_at", "correlation"}


def test_bad_files_are_refused_by_name(refused, runs, tmp_path):
    def said(content: bytes) -> str:
        path = tmp_path / "bad.txt"
        path.write_bytes(content)
        line = refused("cells", run=runs / "lstm", file=path, output=tmp_path / "c.png")
        assert line.startswith(f"{path}:")
        return line.removeprefix(str(path))

    assert said(b"") == ": is empty: give some text"
    assert "the text is too short: 1 tokens, a search needs 100" in said(b"o")
    assert said(b"one\ntwo\none X" * 20).startswith(":3: 'X' (U+0058) was never seen")
    assert "none of inside quotes, line position" in said(b"\n" * 200)
    assert said(b"one\n\xff").startswith(":2: not valid UTF-8")
    missing = refused(
        "cells", run=runs / "lstm", file=tmp_path / "no.txt", output=tmp_path / "c.png"
    )
    assert missing == f"{tmp_path / 'no.txt'}: cannot be read: No such file or directory"
    assert not (tmp_path / "c.png").exists()


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


def test_each_property_has_its_coloured_text():
    pieces = [*"one\ntwo "]
    values = torch.linspace(-1, 1, 8)
    found = [finding("line position", values), finding("inside $quotes$", -values)]
    properties = {"line position": torch.arange(8.0), "inside $quotes$": torch.ones(8)}
    axes_of = draw(cells(found, pieces, properties)).axes
    for axes, sign in zip(axes_of[:2], (1, -1), strict=True):
        np.testing.assert_allclose(
            axes.images[0].get_array()[1, :4].filled(np.nan), sign * values[4:].numpy(), rtol=1e-6
        )
        assert [text.get_text() for text in axes.texts] == [*"one↵two"]
        assert axes.texts[4].get_position() == (0, 1)
    assert axes_of[0].get_title("left") == (
        "line position: layer 1, unit 3; correlation 0.80 on this half of the text"
    )
