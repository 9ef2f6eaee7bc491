"""Gates of very small recurrent language models."""

from functools import partial

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from landmark.figures.recurrent.gates import Gates, draw
from landmark.probes.gate import GateView

PIECES = ["a", " ", "$", "$", "\n"]
VIEW = GateView(
    2,
    (7, 3),
    {"forget": torch.rand(3, 5), "cell": torch.tensor([[-4.0, 1, 1, 1, 1]] * 3)},
)


def test_gates_of_a_text_are_drawn_and_given_as_json(make, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make("gates", run=runs / "lstm", text="one (two)\n", layer=1, units=3)
    assert made.rows[0].startswith("lstm, layer 1, units ")
    assert [line.split()[0] for line in made.rows[1:]] == ["input", "forget", "output", "cell"]
    assert imread(tmp_path / "gates.png").size > 0
    record = made.json()
    keys = ["figure", "cell", "layer", "units", "tokens", "gates", "means"]
    assert list(record) == keys
    assert record["tokens"] == [*"one (two)\n"]
    assert record["gates"].keys() == record["means"].keys() == {"input", "forget", "output", "cell"}
    assert {len(rows) for rows in record["gates"].values()} == {len(record["units"])} == {3}
    assert {len(row) for rows in record["gates"].values() for row in rows} == {10}


@pytest.mark.parametrize(
    ("name", "shown"), [("gru", ["reset", "update", "hidden"]), ("rnn", ["hidden"])]
)
def test_other_cells_show_the_gates_they_have(make, runs, tmp_path, name, shown):
    rows = make("gates", run=runs / name, text="nine", output=tmp_path / "g.png").rows
    assert rows[0].startswith(f"{name}, layer 2, units ")
    assert [line.split()[0] for line in rows[1:]] == shown


def test_subwords_are_labelled_with_what_they_stand_for(make, runs, tmp_path):
    made = make("gates", run=runs / "subwords", text="one ☂ five", output=tmp_path / "g.png")
    tokens = made.json()["tokens"]
    assert "".join(tokens) == "one ☂ five"
    assert len(tokens) < 10 + 2


def test_bad_texts_are_refused(refused, runs, tiny_run, pretrained_runs, tmp_path):
    gates = partial(refused, "gates", run=runs / "lstm", output=tmp_path / "g.png")
    assert "the text is empty" in gates(text="")
    assert "the text is too short: 1 tokens" in gates(text="o")
    assert gates(text="one é").startswith("the text, character 5: 'é' (U+00E9) was never seen")
    assert "the text is not valid UTF-8" in gates(text="on\udcffe")
    said = gates(text="one, " * 100)
    assert "the text has 500 tokens: the heat map's limit is 400" in said
    assert "layer 3: the model has the layers 1 to 2" in gates(text="one", layer=3)
    assert "units 13: a layer of this model has 1 to 12" in gates(text="one", units=13)
    assert "is a run of task 'translation'" in refused("gates", run=tiny_run, text="one")
    gpt = pretrained_runs["gpt"]
    assert "has no recurrent layers" in refused("gates", run=gpt, text="one")


def test_each_gate_is_a_heat_map_over_the_characters():
    forget, cell = draw(Gates("a $title$", "lstm", VIEW, PIECES)).axes[:2]
    for axes, (name, values) in zip((forget, cell), VIEW.gates.items(), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), values.numpy())
        assert axes.get_ylabel().startswith(name)
        assert [label.get_text() for label in axes.get_yticklabels()] == ["7", "3", "mean"]
    assert forget.images[0].get_clim() == (0, 1)
    assert cell.images[0].get_clim() == (-4, 4)  # zero is in the middle
    assert [label.get_text() for label in cell.get_xticklabels()] == ["a", "␣", "$", "$", "↵"]
