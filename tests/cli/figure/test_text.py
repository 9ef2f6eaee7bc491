"""The figures of text models, drawn from a very small GPT, BERT and LSTM."""

import json
from functools import partial

import pytest
import torch
from matplotlib.image import imread

from landmark.pipelines.inspection.reader import open_reader
from landmark.probes.attention import self_attention

TEXT = "the old man reads it"


@pytest.mark.parametrize("name", ["gpt", "bert"])
def test_attention_is_that_of_the_network_for_every_layer_and_head(
    command, pretrained_runs, tmp_path, name
):
    run, picture = pretrained_runs[name], tmp_path / "a.png"
    answer = command("figure", "attention", run, TEXT, "--output", picture, "--json")
    assert (answer.code, answer.err) == (0, "")
    record = json.loads(answer.out)
    reader = open_reader(run, device="cpu")
    reading = reader.read(TEXT)
    expected = self_attention(reader.network, reading.tokens, reading.segments)
    torch.testing.assert_close(torch.tensor(record["weights"]), expected)
    assert record["tokens"] == list(reading.pieces)
    assert (record["layers"], record["heads"], record["token"]) == ([1, 2], [1, 2], None)
    assert imread(picture).std() > 0
    words = [run, TEXT, "--layer", 2, "--head", 1, "--output", picture]
    one = json.loads(command("figure", "attention", *words, "--json").out)
    torch.testing.assert_close(torch.tensor(one["weights"]), expected[1:, :1])
    lines = command("figure", "attention", *words).lines
    assert len(lines) == len(reading.pieces) + 1
    assert lines[-1] == str(picture)


def test_all_heads_have_a_line_of_habits(command, pretrained_runs, tmp_path):
    words = [pretrained_runs["gpt"], TEXT, "--output", tmp_path / "a.svg"]
    head, *rows = command("figure", "attention", *words).lines
    assert head.split() == ["layer", "head", "itself", "previous", "first", "entropy"]
    assert ["".join(row.split()[:2]) for row in rows[:-1]] == ["11", "12", "21", "22"]


def test_what_one_word_looks_at_is_told_head_by_head(command, pretrained_runs, tmp_path):
    run, picture = pretrained_runs["gpt"], tmp_path / "it.png"
    words = [run, "a man reads it very", "--token", "it", "--words", "--output", picture]
    answer = command("figure", "attention", *words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0] == "layer 2: it looks at"
    assert [line.split()[:2] for line in answer.lines[1:3]] == [["head", "1"], ["head", "2"]]
    assert imread(picture).std() > 0
    record = json.loads(command("figure", "attention", *words, "--layer", 1, "--json").out)
    assert record["tokens"] == ["a", "man", "reads", "it", "very"]
    assert (record["layers"], record["token"]) == ([1], 3)
    (heads,) = record["weights"]
    for row in heads:
        assert sum(row) == pytest.approx(1, abs=1e-5)
        assert row[4:] == [0]  # what comes after it cannot be seen


def test_attention_comes_as_a_page_too(command, pretrained_runs, tmp_path):
    page = tmp_path / "a.html"
    answer = command("figure", "attention", pretrained_runs["bert"], TEXT, "--output", page)
    assert answer.lines[-1] == str(page)
    assert '"layers": [1, 2]' in page.read_text("utf-8")


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_what_comes_next_is_a_table_and_a_figure(command, pretrained_runs, tmp_path, ending):
    picture = tmp_path / f"next.{ending}"
    words = [pretrained_runs["gpt"], TEXT, "--top", 3, "--output", picture]
    answer = command("figure", "next", *words)
    assert (answer.code, answer.err) == (0, "")
    head, *rows = answer.lines
    assert head.split() == ["came", "probability", "rank", "bits", "1", "2", "3"]
    assert rows[-3].startswith("?")
    assert rows[-2].endswith(f"perplexity {rows[-2].split()[-1]}")
    assert rows[-1] == str(picture)
    assert picture.stat().st_size > 500


def test_the_surprise_at_a_text_compares_with_its_rank(command, pretrained_runs):
    """Also of a recurrent model, which reads a line's end before the text."""
    for name, first in (("gpt", 1), ("lstm", 0)):
        answer = command("figure", "next", pretrained_runs[name], TEXT, "--top", 4, "--json")
        record = json.loads(answer.out)
        pieces = [place["token"] for place in record["places"]]
        assert record["figure"] is None
        assert record["opening"] + "".join(pieces[:-1]) == TEXT
        assert bool(record["opening"]) == bool(first)
        assert pieces[-1] is None
        bits = [place["surprisal"] for place in record["places"][:-1]]
        assert record["mean_surprisal"] == pytest.approx(sum(bits) / len(bits))
        for place in record["places"][:-1]:
            assert place["probability"] == pytest.approx(2 ** -place["surprisal"])
            shares = [share for _, share in place["expected"]]
            assert shares == sorted(shares, reverse=True)
            assert (place["probability"] >= shares[-1] - 1e-12) == (place["rank"] <= 4)


@pytest.mark.parametrize("name", ["gpt", "bert", "lstm"])
def test_neighbours_have_the_highest_cosines_of_all(command, pretrained_runs, tmp_path, name):
    run, picture = pretrained_runs[name], tmp_path / "n.png"
    words = [run, "man", "book", "man", "--count", 3, "--output", picture]
    answer = command("figure", "neighbours", *words)
    assert (answer.code, answer.err) == (0, "")
    assert sum(not line.startswith("  ") for line in answer.lines) == 3  # two words and the file
    record = json.loads(command("figure", "neighbours", *words, "--json").out)
    assert [entry["word"] for entry in record["words"]] == ["man", "book"]
    reader = open_reader(run, device="cpu")
    table = reader.table.double()
    for entry in record["words"]:
        own = reader.find(entry["word"])
        vector = table[own].mean(0)
        cosines = {
            number: float(table[number] @ vector / table[number].norm() / vector.norm())
            for number in reader.ordinary
            if number not in own
        }
        best = sorted(cosines.values(), reverse=True)[:3]
        assert [near["cosine"] for near in entry["neighbours"]] == pytest.approx(best, abs=1e-6)
    assert imread(picture).std() > 0


def test_bad_input_gets_one_line(mistake, pretrained_runs, tiny_run, tmp_path):
    gpt, bert, lstm = (pretrained_runs[name] for name in ("gpt", "bert", "lstm"))
    attention = partial(mistake, "figure", "attention")
    assert "layer 3: the model has the layers 1 to 2" in attention(gpt, TEXT, "--layer", 3)
    assert "head 0: the model has the heads 1 to 2" in attention(gpt, TEXT, "--head", 0)
    assert "the text is empty" in attention(bert, "")
    assert "'he' is no token of the text: choose from" in attention(bert, TEXT, "--token", "he")
    assert "[NO]: is no special token" in attention(bert, "a [NO]")
    assert "a recurrent model has no attention" in attention(lstm, TEXT)
    assert "is a run of task 'translation'" in attention(tiny_run, TEXT)
    assert ".png, .svg, .pdf or .html" in attention(gpt, TEXT, "--output", tmp_path / "x.txt2")
    assert "the model's context is 40" in attention(gpt, "word " * 100)
    following = partial(mistake, "figure", "next")
    assert "a BERT fills gaps" in following(bert, TEXT)
    assert "--top" in following(gpt, TEXT, "--top", 0)
    assert "the vocabulary has" in following(lstm, TEXT, "--top", 45)
    assert "the text has 130 places" in following(lstm, "a" * 129, "--output", tmp_path / "x.png")
    near = partial(mistake, "figure", "neighbours")
    assert "was never seen in training" in near(lstm, "ZZ")
    assert "is no word" in near(gpt, "")
    assert "21 words are too many" in near(gpt, *(f"w{n}" for n in range(21)))
    assert "cannot be written" in near(gpt, "man", "--output", tmp_path / "x.html")
    for figure in ("gates", "cells"):
        assert "has no recurrent layers" in mistake("figure", figure, gpt, TEXT)


def test_a_token_that_is_there_twice_must_be_numbered(mistake, command, pretrained_runs, tmp_path):
    words = ["figure", "attention", pretrained_runs["gpt"], "it reads it", "--words"]
    words += ["--output", tmp_path / "a.png"]
    assert "'it' is there 2 times: name one as it#1 or it#2" in mistake(*words, "--token", "it")
    record = json.loads(command(*words, "--token", "it#2", "--json").out)
    assert record["token"] == 2


def test_the_figures_are_listed(command):
    answer = command("figure", "--help")
    for name in ("attention", "next", "losses", "neighbours", "scaling", "sizes"):
        assert f"\n  {name} " in answer.out
