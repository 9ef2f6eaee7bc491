"""Neighbours in the embeddings of a very small GPT, BERT and LSTM."""

from functools import partial

import pytest
from matplotlib.image import imread

from landmark.figures.neighbours import Neighbourhood, PlottedWord, draw
from landmark.figures.text_reader import open_reader


@pytest.mark.parametrize("name", ["gpt", "bert", "lstm"])
def test_neighbours_have_the_highest_cosines_of_all(make, pretrained_runs, tmp_path, name):
    run, picture = pretrained_runs[name], tmp_path / "n.png"
    made = make("neighbours", run=run, words=["man", "book", "man"], count=3, output=picture)
    assert sum(not line.startswith("  ") for line in made.rows) == 2
    record = made.json()
    assert list(record) == ["figure", "words"]
    assert [entry["word"] for entry in record["words"]] == ["man", "book"]
    reader = open_reader(run, device="cpu")
    table = reader.table.double()
    for entry in record["words"]:
        assert list(entry) == ["word", "pieces", "neighbours"]
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


def test_bad_input_is_refused(refused, pretrained_runs, tmp_path):
    gpt, lstm = pretrained_runs["gpt"], pretrained_runs["lstm"]
    near = partial(refused, "neighbours")
    assert "was never seen in training" in near(run=lstm, words=["ZZ"], output=tmp_path / "x.png")
    assert "is not a word" in near(run=gpt, words=[""], output=tmp_path / "x.png")
    words = [f"w{n}" for n in range(21)]
    assert "21 words are too many" in near(run=gpt, words=words, output=tmp_path / "x.png")
    assert "cannot be written" in near(run=gpt, words=["man"], output=tmp_path / "x.html")
    assert "--count" in near(run=gpt, words=["man"], count=0)


def test_given_words_are_bold_and_neighbours_have_their_colour():
    places = [
        PlottedWord("king", 0.0, 1.0, 0, True), PlottedWord(" $queen", 0.1, 1.1, 0, False),
        PlottedWord("war", -1.0, 0.0, 1, True),
    ]  # fmt: skip
    (axes,) = draw(Neighbourhood("title", [], places, (0.6, 0.25))).axes
    texts = {text.get_text(): text for text in axes.texts}
    assert list(texts) == ["king", "$queen", "war"]
    assert [text.get_fontweight() for text in texts.values()] == ["bold", "normal", "bold"]
    king, queen, war = (text.get_color() for text in texts.values())
    assert king == queen != war
    assert [text.xy for text in texts.values()] == [(0.0, 1.0), (0.1, 1.1), (-1.0, 0.0)]
    assert not texts["$queen"].get_parse_math()
    assert "60% of the variance" in axes.get_xlabel()
