"""The pages as a browser gets them: whole, and with nothing to fetch from elsewhere."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from landmark.figures import attention
from landmark.figures import next as following
from landmark.figures.figure import save
from landmark.figures.next import PredictedToken

EVIL = "</script><script>alert(1)</script>"
NAMES = ["it", EVIL, "&amp;", "é"]
WEIGHTS = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(1)).softmax(-1)
ROWS = [
    PredictedToken(EVIL, 0.25, 2, 2.0, [("a", 0.5), (EVIL, 0.25)]),
    PredictedToken(" b", 0.01, 3, 6.64, [("c", 0.9), ("<d", 0.02)]),
    PredictedToken(None, None, None, None, [("e", 0.6), ("f", 0.2)]),
]


class Page(HTMLParser):
    """Elements with their attributes, and the text of each kind of them."""

    def __init__(self, path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.texts.append((self.elements[-1][0] if self.elements else "", text))


@pytest.fixture
def pages(tmp_path):
    looked = attention.Attention(f"run {EVIL}", NAMES, [3, 4], [1, 2, 6], WEIGHTS, 2)
    save(attention, looked, tmp_path / "a.html")
    save(following, following.NextTokenPredictions(f"run {EVIL}", "<b", ROWS), tmp_path / "n.html")
    return tmp_path


@pytest.mark.parametrize("name", ["a.html", "n.html"])
def test_a_page_asks_for_nothing_from_elsewhere(pages, name):
    page = Page(pages / name)
    for _, attributes in page.elements:
        assert not attributes.keys() & {"src", "href", "srcset", "action", "data", "poster"}
    policy = next(
        a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "http" not in policy
    text = (pages / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//\w|url\(|@import|fetch\(|XMLHttpRequest|import\(", text)


@pytest.mark.parametrize("name", ["a.html", "n.html"])
def test_what_stands_in_a_text_is_never_a_part_of_the_page(pages, name):
    page = Page(pages / name)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert len(scripts) == (2 if name == "a.html" else 0)


def test_the_page_of_attention_holds_every_weight(pages):
    page = Page(pages / "a.html")
    (content,) = [text for tag, text in page.texts if text.startswith('{"title"')]
    data = json.loads(content)
    assert data["tokens"] == NAMES
    assert (data["layers"], data["heads"], data["token"]) == ([3, 4], [1, 2, 6], 2)
    numbers = np.frombuffer(base64.b64decode(data["weights"]), "<u2").reshape(2, 3, 4, 4) / 65535
    np.testing.assert_allclose(numbers, WEIGHTS.numpy(), atol=1e-5)


def test_the_page_of_predictions_shows_the_text_and_a_line_a_place(pages):
    page = Page(pages / "n.html")
    spans = [attributes for tag, attributes in page.elements if tag == "span"]
    assert [span["title"] for span in spans] == [f"a 50.0%, {EVIL} 25.0%", "c 90.0%, <d 2.0%"]
    assert "0.17" in spans[0]["style"]  # 2 bits of 12
    whole = "".join(text for _, text in page.texts)
    assert f"<b{EVIL} b" in whole
    assert sum(tag == "tr" for tag, _ in page.elements) == 1 + len(ROWS)
    came = [a for tag, a in page.elements if tag == "td" and a.get("class") == "token came"]
    assert len(came) == 1
