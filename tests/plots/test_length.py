import pytest
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.metrics.translation import score_by_length
from landmark.plots.figure import check_figure
from landmark.plots.length import save_lengths

LINES = ["a b c d"] * 4 + ["a b c d e f g h"] * 4
WORSE = ["a b c d"] * 4 + ["a b c d e f g x"] * 4


def bins(said, bootstrap=0):
    return score_by_length(LINES, said, LINES, bootstrap=bootstrap, fewest=4)


def test_each_system_has_its_line(tmp_path):
    pixels = []
    for number, systems in enumerate(
        ({"$a$": bins(LINES)}, {"$a$": bins(LINES), "b": bins(WORSE)})
    ):
        path = tmp_path / f"{number}.png"
        save_lengths(systems, path)
        pixels.append(imread(path))
    assert (pixels[0] != pixels[1]).any()


def test_intervals_are_drawn_as_whiskers(tmp_path):
    mixed = ["a b c d", "a b x d", "a b c d", "x b c d", *WORSE[4:]]
    for name, number in (("without", 0), ("with", 50)):
        save_lengths({"a": bins(mixed, number)}, tmp_path / f"{name}.png")
    without, whiskers = (imread(tmp_path / f"{name}.png") for name in ("without", "with"))
    assert (without.shape != whiskers.shape) or (without != whiskers).any()


def test_places_that_cannot_be_written_are_refused_early(tmp_path):
    check_figure(tmp_path / "a.PNG")
    for path, expected in (
        (tmp_path / "figure", "cannot be written as ''"),
        (tmp_path / "no" / "a.png", "there is no folder"),
    ):
        with pytest.raises(UserError, match=expected):
            check_figure(path)
    (tmp_path / "b.png").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        check_figure(tmp_path / "b.png")
