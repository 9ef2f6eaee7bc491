"""What very small language models predict next, as numbers, a picture and a page."""

from functools import partial

import pytest

from landmark.figures.next import NextTokenPredictions, PredictedToken, draw

TEXT = "the old man reads it"
ROWS = [
    PredictedToken("$a", 0.25, 2, 2.0, [("b", 0.5), ("$a", 0.25)]),
    PredictedToken(" c", 0.01, 7, 6.64, [("\n", 0.9), ("e", 0.02)]),
    PredictedToken(None, None, None, None, [("f", 0.6), ("g", 0.2)]),
]


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_what_comes_next_is_a_table_and_a_figure(make, pretrained_runs, tmp_path, ending):
    picture = tmp_path / f"next.{ending}"
    made = make("next", run=pretrained_runs["gpt"], text=TEXT, top=3, output=picture)
    head, *rows = made.lines()
    assert head.split() == ["came", "probability", "rank", "bits", "1", "2", "3"]
    assert rows[-3].startswith("?")
    assert rows[-2].endswith(f"perplexity {rows[-2].split()[-1]}")
    assert rows[-1] == str(picture)
    assert picture.stat().st_size > 500


def test_the_surprise_at_a_text_compares_with_its_rank(make, pretrained_runs):
    """Also of a recurrent model, which reads a line's end before the text."""
    for name, first in (("gpt", 1), ("lstm", 0)):
        made = make("next", run=pretrained_runs[name], text=TEXT, top=4)
        assert made.lines() == made.rows  # no picture was asked for
        record = made.json()
        assert list(record) == ["figure", "opening", "mean_surprisal", "places"]
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


def test_bad_input_is_refused(refused, pretrained_runs, tmp_path):
    gpt, bert, lstm = (pretrained_runs[name] for name in ("gpt", "bert", "lstm"))
    following = partial(refused, "next")
    assert "a BERT fills in masks" in following(run=bert, text=TEXT)
    assert "--top" in following(run=gpt, text=TEXT, top=0)
    assert "the vocabulary has" in following(run=lstm, text=TEXT, top=45)
    said = following(run=lstm, text="a" * 129, output=tmp_path / "x.png")
    assert "the text has 130 places" in said
    assert not (tmp_path / "x.png").exists()


@pytest.fixture
def panels():
    return draw(NextTokenPredictions("$title", "", ROWS)).axes


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
