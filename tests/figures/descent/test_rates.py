from matplotlib.image import imread

from landmark.figures import style
from landmark.probes.descent.path import METHODS
from tests.figures.drawing import as_json, make, module_of


def test_rates_show_too_small_right_and_too_large(tmp_path):
    picture = tmp_path / "r.png"
    drawn = make("rates", method="momentum", surface="ravine", steps=60, output=picture)
    assert drawn.rows[0].startswith("momentum, ravine")
    assert [line[:10].strip() for line in drawn.rows[1:]] == ["too small", "right", "too large"]
    assert imread(picture).std() > 0
    record = as_json(drawn)
    assert set(record) == {"surface", "method", "steps", "shown", "ends"}
    assert set(record["ends"]) == set(METHODS)
    shown = record["shown"]
    assert shown["too small"]["rate"] < shown["right"]["rate"] < shown["too large"]["rate"]
    axes = module_of("rates").draw(drawn.record).axes
    names = [line.get_label() for one in axes[4:] for line in one.lines]
    assert sorted(names) == sorted(METHODS)
    assert max(len(one.lines) for one in axes[4:]) <= style.MOST_LINES
    assert len({one.get_xlim() for one in axes[4:]}) == len({one.get_ylim() for one in axes[4:]})
    assert axes[4].get_xlim()[0] <= 1e-4  # of all methods, not of the last alone
