from pathlib import Path

from matplotlib.figure import Figure

from landmark.plots import neighbour
from landmark.plots.neighbour import Place, save_neighbours


def test_given_words_are_bold_and_neighbours_have_their_colour(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(neighbour, "save_figure", lambda figure, path: figures.append(figure))
    places = [
        Place("king", 0.0, 1.0, 0, True), Place(" $queen", 0.1, 1.1, 0, False),
        Place("war", -1.0, 0.0, 1, True),
    ]  # fmt: skip
    save_neighbours(places, (0.6, 0.25), "title", Path("x.png"))
    (axes,) = figures[0].axes
    texts = {text.get_text(): text for text in axes.texts}
    assert list(texts) == ["king", "$queen", "war"]
    assert [text.get_fontweight() for text in texts.values()] == ["bold", "normal", "bold"]
    assert [text.get_color() for text in texts.values()] == ["C0", "C0", "C1"]
    assert [text.xy for text in texts.values()] == [(0.0, 1.0), (0.1, 1.1), (-1.0, 0.0)]
    assert not texts["$queen"].get_parse_math()
    assert "60% of the variance" in axes.get_xlabel()
