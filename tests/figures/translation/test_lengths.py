from matplotlib.image import imread

from landmark.figures.translation.lengths import draw, save_lengths
from landmark.metrics.translation import score_by_length

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


def test_many_systems_are_shared_out_over_panels():
    *panels, counts = draw({f"system {number}": bins(WORSE) for number in range(8)}).axes
    assert [len(axes.containers) for axes in panels] == [6, 2]
    assert counts.get_ylabel() == "sentences"
