"""Attention of a very small GPT and BERT: heat maps, bars, a page, a table."""

from functools import partial

import pytest
import torch
from matplotlib.image import imread

from landmark.figures.attention import Attention, draw
from landmark.figures.style import token_label
from landmark.figures.text_reader import open_reader
from landmark.probes.attention import self_attention

TEXT = "the old man reads it"
NAMES = ["$x$", " it", "\n", " "]
WEIGHTS = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(1)).softmax(-1)


@pytest.mark.parametrize("name", ["gpt", "bert"])
def test_attention_is_that_of_the_network_for_every_layer_and_head(
    make, pretrained_runs, tmp_path, name
):
    run, picture = pretrained_runs[name], tmp_path / "a.png"
    record = make("attention", run=run, text=TEXT, output=picture).json()
    assert list(record) == ["figure", "tokens", "layers", "heads", "token", "weights"]
    reader = open_reader(run, device="cpu")
    reading = reader.read(TEXT)
    expected = self_attention(reader.network, reading.tokens, reading.segments)
    torch.testing.assert_close(torch.tensor(record["weights"]), expected)
    assert record["tokens"] == list(reading.pieces)
    assert (record["layers"], record["heads"], record["token"]) == ([1, 2], [1, 2], None)
    assert imread(picture).std() > 0
    one = make("attention", run=run, text=TEXT, layer=2, head=1, output=picture)
    torch.testing.assert_close(torch.tensor(one.json()["weights"]), expected[1:, :1])
    assert len(one.rows) == len(reading.pieces)
    assert one.lines()[-1] == str(picture)


def test_all_heads_have_a_line_of_habits(make, pretrained_runs, tmp_path):
    made = make("attention", run=pretrained_runs["gpt"], text=TEXT, output=tmp_path / "a.svg")
    head, *rows = made.rows
    assert head.split() == ["layer", "head", "itself", "previous", "first", "entropy"]
    assert ["".join(row.split()[:2]) for row in rows] == ["11", "12", "21", "22"]


def test_what_one_word_looks_at_is_told_head_by_head(make, pretrained_runs, tmp_path):
    run, picture = pretrained_runs["gpt"], tmp_path / "it.png"
    options = {"text": "a man reads it very", "token": "it", "words": True, "output": picture}
    rows = make("attention", run=run, **options).rows
    assert rows[0] == "layer 2: it looks at"
    assert [line.split()[:2] for line in rows[1:]] == [["head", "1"], ["head", "2"]]
    assert imread(picture).std() > 0
    record = make("attention", run=run, **options, layer=1).json()
    assert record["tokens"] == ["a", "man", "reads", "it", "very"]
    assert (record["layers"], record["token"]) == ([1], 3)
    (heads,) = record["weights"]
    for row in heads:
        assert sum(row) == pytest.approx(1, abs=1e-5)
        assert row[4:] == [0]  # what comes after it cannot be seen


def test_attention_comes_as_a_page_too(make, pretrained_runs, tmp_path):
    page = tmp_path / "a.html"
    made = make("attention", run=pretrained_runs["bert"], text=TEXT, output=page)
    assert made.path == page
    assert '"layers": [1, 2]' in page.read_text("utf-8")


def test_a_token_that_is_there_twice_must_be_numbered(make, refused, pretrained_runs, tmp_path):
    options = {"run": pretrained_runs["gpt"], "text": "it reads it", "words": True}
    options["output"] = tmp_path / "a.png"
    said = refused("attention", **options, token="it")
    assert said == "'it' is there 2 times: name one as it#1 or it#2"
    assert make("attention", **options, token="it#2").json()["token"] == 2


def test_bad_input_is_refused(refused, pretrained_runs, tiny_run, tmp_path):
    gpt, bert, lstm = (pretrained_runs[name] for name in ("gpt", "bert", "lstm"))
    attention = partial(refused, "attention", output=tmp_path / "a.png")
    assert "layer 3: the model has the layers 1 to 2" in attention(run=gpt, text=TEXT, layer=3)
    assert "head 0: the model has the heads 1 to 2" in attention(run=gpt, text=TEXT, head=0)
    assert "the text is empty" in attention(run=bert, text="")
    said = attention(run=bert, text=TEXT, token="he")
    assert "'he' is no token of the text: choose from" in said
    assert "[NO]: is not a special token" in attention(run=bert, text="a [NO]")
    assert "a recurrent model has no attention" in attention(run=lstm, text=TEXT)
    assert "is a run of task 'translation'" in attention(run=tiny_run, text=TEXT)
    assert "the model's context is 40" in attention(run=gpt, text="word " * 100)
    assert "there is no such run" in attention(run=tmp_path / "no", text=TEXT)
    assert not (tmp_path / "a.png").exists()
    said = refused("attention", run=gpt, text=TEXT, output=tmp_path / "x.txt2")
    assert ".png, .svg, .pdf or .html" in said


def test_labels_show_what_does_not_print():
    assert [token_label(name) for name in NAMES] == ["$x$", "it", "↵", "␣"]


def test_one_head_is_a_heat_map_with_every_token_named():
    axes = draw(Attention("$title$", NAMES, [1], [2], WEIGHTS[:1, 1:2])).axes[0]
    assert torch.equal(torch.tensor(axes.images[0].get_array()), WEIGHTS[0, 1])
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [text.get_text() for text in labels] == ["$x$", "it", "↵", "␣"]
        assert not any(text.get_parse_math() for text in labels)


def test_all_heads_stand_in_rows_of_a_layer():
    figure = draw(Attention("title", NAMES, [1, 2], [1, 2, 3], WEIGHTS))
    panels = [axes for axes in figure.axes if axes.images and axes.get_title()]
    assert [axes.get_title() for axes in panels] == [
        f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)
    ]
    for number, axes in enumerate(panels):
        shown = torch.tensor(axes.images[0].get_array())
        assert torch.equal(shown, WEIGHTS[number // 3, number % 3])


def test_a_long_text_has_no_names_in_small_panels():
    weights = torch.eye(50).expand(1, 5, 50, 50)
    figure = draw(Attention("", ["a"] * 50, [3], [1, 2, 3, 4, 5], weights))
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert len(panels) == 5
    assert all(len(axes.get_xticklabels()) == 0 for axes in panels)


def test_what_a_token_looks_at_is_a_row_of_bars_a_head():
    panels = draw(Attention("title", NAMES, [2], [1, 2, 3], WEIGHTS[1:], token=2)).axes
    for head, axes in enumerate(panels):
        heights = [bar.get_height() for bar in axes.patches]
        assert heights == pytest.approx(WEIGHTS[1, head, 2].tolist())
        most = int(WEIGHTS[1, head, 2].argmax())
        colours = [bar.get_facecolor() for bar in axes.patches]
        assert [place for place, one in enumerate(colours) if one == colours[most]] == [most]
        assert axes.get_ylabel() == str(head + 1)
    assert panels[-1].get_xticklabels()[2].get_fontweight() == "bold"
