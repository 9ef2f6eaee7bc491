import io

import pytest
import torch
from matplotlib.image import imread
from rich.console import Console

from landmark.figures.translation.heatmap import save_heatmap, terminal_heatmap

SOURCE, TARGET = (" I", " ate", "</s>"), (" Ich", " aß", "</s>")
WEIGHTS = torch.tensor([[0.94, 0.06, 0.0], [0.25, 0.5, 0.25], [0.004, 0.0, 0.996]])


def printed(columns, rows, weights) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    console.print(terminal_heatmap(columns, rows, weights))
    return console.file.getvalue().rstrip("\n").split("\n")


def test_the_terminal_shows_rows_columns_and_percentages():
    head, *rows = printed(SOURCE, TARGET, WEIGHTS)
    assert head.split() == ["I", "ate", "</s>"]
    assert [row.split()[0] for row in rows] == ["Ich", "aß", "</s>"]
    numbers = [[word.strip("░▒▓█") for word in row.split()[1:]] for row in rows]
    assert [[n for n in row if n] for row in numbers] == [
        ["94", "6", "·"],
        ["25", "50", "25"],
        ["·", "·", "100"],
    ]


def test_a_darker_shade_means_more_attention():
    shades = [printed("a", "b", torch.tensor([[weight]]))[1] for weight in (0.1, 0.3, 0.5, 0.7, 1)]
    assert [next((s for s in "█▓▒░" if s in line), " ") for line in shades] == list(" ░▒▓█")


def test_pieces_that_look_like_markup_are_shown_as_they_are():
    pieces = ("[/]", "[bold]", ":smile:")
    head, *rows = printed(pieces, pieces, torch.full((3, 3), 1 / 3))
    assert head.split() == list(pieces)
    assert [row.split()[0] for row in rows] == list(pieces)


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="zip"):
        terminal_heatmap(SOURCE, TARGET[:2], WEIGHTS)


def test_the_picture_grows_with_the_sentence(tmp_path):
    sizes = []
    for count in (3, 12):
        path = tmp_path / f"{count}.png"
        weights = torch.eye(count)
        save_heatmap(["piece"] * count, ["Stück"] * count, weights, "title", path)
        sizes.append(imread(path).shape[:2])
    assert all(300 < side < 3000 for size in sizes for side in size)
    assert sizes[0][0] < sizes[1][0]
    assert sizes[0][1] < sizes[1][1]


def test_the_picture_shows_the_weights(tmp_path):
    pixels = {}
    for name, weights in (("one", WEIGHTS), ("same", WEIGHTS), ("other", WEIGHTS.flip(0))):
        save_heatmap(SOURCE, TARGET, weights, "title", tmp_path / f"{name}.png")
        pixels[name] = imread(tmp_path / f"{name}.png")
    assert (pixels["one"] == pixels["same"]).all()
    assert (pixels["one"] != pixels["other"]).any()


@pytest.mark.parametrize("ending", ["pdf", "svg"])
def test_the_ending_chooses_the_format(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    save_heatmap(SOURCE, TARGET, WEIGHTS, "title", path)
    start = path.read_bytes()[:200]
    assert start.startswith(b"%PDF") if ending == "pdf" else b"<svg" in start or b"<?xml" in start


def test_dollar_signs_are_no_formulas(tmp_path):
    pieces = ("$$", "$x^$", "$\\frac$")
    save_heatmap(pieces, pieces, torch.eye(3), "title", tmp_path / "out.png")
    assert (tmp_path / "out.png").is_file()
