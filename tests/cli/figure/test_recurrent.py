"""The figures of the recurrent story, drawn from very small language models."""

import json
from functools import partial

import pytest
import torch
from matplotlib.image import imread

import landmark
from landmark.probes import gradient
from landmark.tasks.training import train

LINES = ["one (two) three,\n", "  four; five;\n", 'six "seven eight"\n', "nine\n", "\n"]
TEXT = "".join(LINES * 40)
SETTINGS = [
    "model.embedding_size=8", "model.hidden_size=12", "model.num_layers=2", "batches.streams=5",
    "batches.length=16", "trainer.max_steps=20", "trainer.validate_every=20",
    "trainer.checkpoint_every=20", "threads=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory, text):
    """A language model of each kind, of two layers of twelve units; and one of subwords."""
    folder = tmp_path_factory.mktemp("runs")
    settings = [*SETTINGS, "data.corpus=files", f"data.text=['{text}']"]
    for cell in ("lstm", "gru", "rnn"):
        train("language-model", folder / cell, [*settings, f"model.cell={cell}"])
    subwords = ["tokenizer.kind=subwords", "tokenizer.vocab_size=280", "batches.length=8"]
    train("language-model", folder / "subwords", [*settings, *subwords])
    return folder


@pytest.fixture
def short_training(monkeypatch):
    monkeypatch.setattr(gradient, "train_exploding", partial(gradient.train_exploding, steps=4))


@pytest.mark.usefixtures("short_training")
def test_gradients_of_fresh_networks_come_as_figure_and_table(command, tmp_path):
    picture = tmp_path / "out.png"
    answer = command("figure", "gradients", "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    head, *rows = answer.lines
    assert head.split() == ["distance", "1", "10", "50", "99"]
    table = {row.split(": ")[0]: row.split()[2:] for row in rows[:5]}
    assert table.keys() == {"rnn", "lstm", "gru", "transformer"}
    assert float(table["rnn"][-1]) < 1e-20 < float(table["lstm"][-1])
    assert float(table["transformer"][-1]) > 1e-4
    assert rows[5:7] == ["1.01^1000 = 20,959", "0.99^1000 = 4.3171e-05"]
    assert rows[7].startswith("largest singular value: rnn 1.1")
    assert rows[8].startswith("exploding RNN, not clipped: loss 2.")
    assert rows[9].startswith("exploding RNN, clipped to 1: loss 2.")
    assert rows[10:] == [str(picture)]
    assert imread(picture).shape[:2] == (1350, 1950)


@pytest.mark.usefixtures("short_training")
def test_runs_are_drawn_beside_fresh_networks(command, runs, tmp_path):
    picture, run = tmp_path / "out.svg", runs / "gru"
    words = [run, run, runs / "subwords", "--length", 12, "--seed", 3, "--json"]
    answer = command("figure", "gradients", *words, "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    record = json.loads(answer.out)
    assert record["figure"] == str(picture)
    places = [f["place"] for f in record["flows"] if f["network"] == str(run)]
    assert places == ["h, layer 1", "h, layer 2"]
    assert {len(flow["norms"]) for flow in record["flows"]} == {12}
    assert len({flow["network"] for flow in record["flows"]}) == 6
    gates = [s["gate"] for s in record["singular_values"] if s["network"] == str(run)]
    assert gates[:3] == ["reset, layer 1", "update, layer 1", "candidate, layer 1"]
    assert record["toy"].keys() == {"1.01", "0.99"}
    assert [len(t["losses"]) for t in record["clipping"]] == [4, 4]
    assert "gru" in picture.read_text()
    # What the run reads is what it writes with this seed.
    pipeline = landmark.load(run)
    written = pipeline.generate(length=13, samples=16, seed=3)
    tokens = torch.tensor([text.tokens for text in written])
    expected = gradient.recurrent_flows(str(run), pipeline.model, tokens)
    assert [list(flow.norms) for flow in expected] == [
        f["norms"] for f in record["flows"] if f["network"] == str(run)
    ]


@pytest.mark.usefixtures("short_training")
def test_a_short_length_has_a_short_table(command, tmp_path):
    answer = command("figure", "gradients", "--length", 2, "--output", tmp_path / "g.pdf")
    assert answer.code == 0
    assert answer.lines[0].split() == ["distance", "1"]


def test_gates_of_a_text_are_drawn_and_given_as_json(command, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [runs / "lstm", "one (two)\n", "--layer", 1, "--units", 3]
    answer = command("figure", "gates", *words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0].startswith("lstm, layer 1, units ")
    assert [line.split()[0] for line in answer.lines[1:5]] == ["input", "forget", "output", "cell"]
    assert answer.lines[5:] == ["gates.png"]
    assert imread(tmp_path / "gates.png").size > 0
    record = json.loads(command("figure", "gates", *words, "--json").out)
    assert record["tokens"] == [*"one (two)\n"]
    assert record["gates"].keys() == record["means"].keys() == {"input", "forget", "output", "cell"}
    assert {len(rows) for rows in record["gates"].values()} == {len(record["units"])} == {3}
    assert {len(row) for rows in record["gates"].values() for row in rows} == {10}


@pytest.mark.parametrize(
    ("name", "shown"), [("gru", ["reset", "update", "hidden"]), ("rnn", ["hidden"])]
)
def test_other_cells_show_the_gates_they_have(command, runs, tmp_path, name, shown):
    answer = command("figure", "gates", runs / name, "nine", "--output", tmp_path / "g.png")
    assert answer.code == 0
    assert answer.lines[0].startswith(f"{name}, layer 2, units ")
    assert [line.split()[0] for line in answer.lines[1:-1]] == shown


def test_subwords_are_labelled_with_what_they_stand_for(command, runs, tmp_path):
    words = [runs / "subwords", "one ☂ five", "--output", tmp_path / "g.png", "--json"]
    tokens = json.loads(command("figure", "gates", *words).out)["tokens"]
    assert "".join(tokens) == "one ☂ five"
    assert len(tokens) < 10 + 2


def test_cells_are_searched_for_and_missing_properties_named(command, runs, text, tmp_path):
    picture = tmp_path / "out.png"
    answer = command("figure", "cells", runs / "lstm", text, "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    head, *rows = answer.lines
    assert head.split() == ["property", "layer", "unit", "first", "half", "second", "half"]
    names = ["inside quotes", "line position", "indentation", "inside brackets"]
    assert [row[:18].strip() for row in rows[:4]] == names
    for row in rows[:4]:
        layer, unit, first, second = row[18:].split()
        assert int(layer) in (1, 2)
        assert 1 <= int(unit) <= 12
        assert abs(float(first)) > 0.2
        assert abs(float(second)) <= 1
    assert rows[4:] == [str(picture)]
    assert imread(picture).size > 0
    plain = tmp_path / "plain.txt"
    plain.write_text("one two three\n" * 20)
    answer = command("figure", "cells", runs / "gru", plain, "--output", picture)
    assert answer.lines[2:5] == [
        f"{name}: does not occur in the text"
        for name in ("inside quotes", "indentation", "inside brackets")
    ]


@pytest.mark.parametrize("name", ["lstm", "subwords"])
def test_cells_come_as_json_too_and_no_more_is_read_than_asked_for(
    command, runs, text, tmp_path, name
):
    words = [runs / name, text, "--output", tmp_path / "c.png", "--length", 900, "--json"]
    answer = command("figure", "cells", *words)
    assert answer.err == f"{text}: only its first 900 characters are read (--length)\n"
    record = json.loads(answer.out)
    assert record["tokens"] == 900 if name == "lstm" else 100 < record["tokens"] < 900
    assert record["missing"] == {}
    for found in record["findings"]:
        assert found.keys() == {"property", "layer", "unit", "chosen_at", "correlation"}


def test_bad_texts_get_one_line(mistake, runs, tmp_path):
    gates = partial(mistake, "figure", "gates", runs / "lstm")
    assert "the text is empty" in gates("")
    assert "the text is too short: 1 tokens" in gates("o")
    assert gates("one é").startswith("the text, character 5: 'é' (U+00E9) was never seen")
    assert "the text is not valid UTF-8" in gates("on\udcffe")
    assert "the text has 500 tokens: a heat map shows 400 at the most" in gates("one, " * 100)
    assert "layer 3: the model has the layers 1 to 2" in gates("one", "--layer", 3)
    assert "units 13: a layer of this model has 1 to 12" in gates("one", "--units", 13)


def test_bad_files_get_one_line_that_names_them(mistake, runs, tmp_path):
    def cells(content: bytes) -> str:
        path = tmp_path / "bad.txt"
        path.write_bytes(content)
        line = mistake("figure", "cells", runs / "lstm", path, "--output", tmp_path / "c.png")
        assert line.startswith(f"{path}:")
        return line.removeprefix(str(path))

    assert cells(b"") == ": is empty: give some text"
    assert "the text is too short: 1 tokens, a search needs 100" in cells(b"o")
    assert cells(b"one\ntwo\none X" * 20).startswith(":3: 'X' (U+0058) was never seen")
    assert "none of inside quotes, line position" in cells(b"\n" * 200)
    assert cells(b"one\n\xff").startswith(":2: not valid UTF-8")
    missing = mistake("figure", "cells", runs / "lstm", tmp_path / "no.txt")
    assert missing == f"{tmp_path / 'no.txt'}: cannot be read: No such file or directory"
    assert not (tmp_path / "c.png").exists()


def test_runs_and_places_that_will_not_do_get_one_line(mistake, runs, text, tiny_run, tmp_path):
    for words in (
        ["gradients", tiny_run],
        ["gates", tiny_run, "one"],
        ["cells", tiny_run, text],
    ):
        assert "is a run of task 'translation', not 'language-model'" in mistake("figure", *words)
        assert "cannot be written" in mistake("figure", *words, "--output", tmp_path / "x.txt2")
    assert "there is no such run" in mistake("figure", "gradients", tmp_path / "no")
    assert "--length" in mistake("figure", "gradients", "--length", 1)
    assert "No such command 'gate'" in mistake("figure", "gate")


def test_the_figures_are_listed(command):
    answer = command("figure", "--help")
    assert answer.code == 0
    for name in ("gradients", "gates", "cells"):
        assert f"\n  {name} " in answer.out
