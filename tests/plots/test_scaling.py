from pathlib import Path

import pytest
from matplotlib.figure import Figure

from landmark.metrics.power_law import Fit, PowerLaw
from landmark.pipelines.inspection.scaling import Rung, Scaling
from landmark.plots import scaling
from landmark.plots.scaling import law_text, save_scaling

FIT = Fit(PowerLaw(0.5, 4e4, 0.0), (0.4, 0.6), (0.0, 0.0), 0.01, 3)
FLOORED = Fit(PowerLaw(0.25, 1e6, 1.25), (0.2, 0.3), (1.0, 1.5), 0.01, 3)
RUNGS = tuple(
    Rung(name, size, (1e5, 2e5, 4e5), (3.0, 2.5, 2.0 - size / 1e6), None)
    for name, size in (("a", 10_000), ("b", 40_000), ("c", 160_000))
)


def test_a_law_is_written_out_with_its_spread():
    assert law_text(FIT, "N") == "L = (4e+04 / N)^0.500  [0.400, 0.600]"
    assert law_text(FLOORED, "D") == "L = 1.25 + (1e+06 / D)^0.250  [0.200, 0.300]"


def test_sizes_and_trainings_are_drawn_with_their_laws(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(scaling, "save_figure", lambda figure, path: figures.append(figure))
    found = Scaling(RUNGS, 4e5, (1.99, 1.96, 1.84), FIT, FLOORED)
    save_scaling(found, "$", Path("x.png"))
    figures[0].canvas.draw()
    sizes, trainings = figures[0].axes
    *points, law = sizes.lines
    assert [line.get_xydata().tolist()[0] for line in points] == [
        [10_000, 1.99], [40_000, 1.96], [160_000, 1.84],
    ]  # fmt: skip
    for x, y in law.get_xydata()[::30]:
        assert y == pytest.approx((4e4 / x) ** 0.5)
    *curves, law = trainings.lines
    assert [curve.get_ydata().tolist() for curve in curves] == [list(r.losses) for r in RUNGS]
    x, y = law.get_xydata()[50]
    assert y == pytest.approx(1.25 + (1e6 / x) ** 0.25)
    assert (sizes.get_xscale(), trainings.get_yscale()) == ("log", "log")
    assert curves[0].get_label() == "10.0 k parameters"
