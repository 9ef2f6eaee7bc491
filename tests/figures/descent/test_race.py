import dataclasses
import math

import pytest
from matplotlib.figure import Figure

from landmark.figures.descent import race as plots
from landmark.racing.result import Curve, OptimizerResult, RaceResult, TrialResult


def standing(method: str, losses: list[float], rate=0.1, pace=1, valid=True) -> OptimizerResult:
    steps, seconds = [10, 20, 30], [1.0, 2.0, 3.0]
    low, high = [loss / 2 for loss in losses], [loss * 2 for loss in losses]
    curve = Curve(steps, seconds, losses, low, high)
    lost = TrialResult(1.0, 1, math.inf, math.inf, 0.5, {}, diverged_at=4)
    best = TrialResult(rate, 1, losses[-1], losses[-1], 3.0, {})
    return OptimizerResult(
        method, rate, 30, pace, [best, lost], [best], curve, curve if valid else None
    )


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The axes of a race's figure, row by row."""
    figures = []
    save = Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(*standings):
        result = RaceResult("race-x", "figure 9", 30, 3, {}, list(standings))
        plots.save_race(result, tmp_path / "race.png")
        assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")
        return figures[-1].axes

    return draw


def test_losses_are_drawn_against_updates_seconds_and_rates(drawn):
    axes = drawn(standing("adam", [3.0, 2.0, 1.0]), standing("lbfgs", [4.0, 3.0, 2.0], pace=5))
    assert len(axes) == 6
    by_update, by_second, by_rate = axes[:3]
    adam, lbfgs = by_update.lines
    assert adam.get_xydata().tolist() == [[10, 3], [20, 2], [30, 1]]
    assert lbfgs.get_xydata().tolist() == [[50, 4], [100, 3], [150, 2]]  # in the others' updates
    assert "lbfgs: x 5" in axes[3].get_xlabel()
    assert by_second.lines[0].get_xydata().tolist() == [[1, 3], [2, 2], [3, 1]]
    assert len(by_update.collections) == 2  # the bands
    searched, diverged = by_rate.lines[:2]
    assert searched.get_xydata().tolist()[0] == [0.1, 1.0]
    assert diverged.get_xdata().tolist() == [1.0]
    assert axes[0].get_ylabel() == "training loss"
    assert axes[3].get_ylabel() == "validation loss"


def test_what_is_not_validated_has_one_row(drawn):
    assert len(drawn(standing("sgd", [3.0, 2.0, 1.0], valid=False))) == 3


def test_a_panel_has_at_most_six_methods_on_one_scale(drawn):
    axes = drawn(*(standing(f"method-{number}", [3.0, 2.0, 1.0 + number]) for number in range(13)))
    assert len(axes) == 2 * 3 * 3  # two losses, three groups
    assert [len(one.lines) for one in axes[::3]] == [6, 6, 1] * 2
    assert len({one.get_ylim() for one in axes[:9]}) == 1
    assert len({one.get_xlim() for one in axes[1::3]}) == 1


def test_without_bias_correction_it_is_dashed_in_the_same_colour_and_panel(drawn):
    others = [standing(f"method-{number}", [3.0, 2.0, 1.0]) for number in range(5)]
    axes = drawn(
        *others,
        standing("adam-0.9-0.999", [3.0, 2.0, 1.0]),
        standing("adam-0.9-0.999-uncorrected", [5.0, 4.0, 3.0]),
        standing("adam-0-0.99", [5.0, 4.5, 3.0]),
    )
    with_it, without, other = axes[3].lines
    assert with_it.get_color() == without.get_color() != other.get_color()
    assert (with_it.get_linestyle(), without.get_linestyle()) == ("-", "--")


def test_an_end_above_the_panel_is_marked_at_its_top(drawn):
    best, far = TrialResult(0.1, 1, 1.0, 1.0, 3.0, {}), TrialResult(1.0, 1, 900.0, 900.0, 3.0, {})
    one = dataclasses.replace(standing("sgd", [3.0, 2.0, 1.0]), search=[best, far])
    axes = drawn(one)[2]
    searched, diverged, above = axes.lines
    assert searched.get_ydata().tolist() == [1.0, axes.get_ylim()[1]]
    assert "above the panel" in axes.get_figure().axes[5].get_xlabel()
    assert not above.get_clip_on()
    assert len(diverged.get_xdata()) == 0
    assert above.get_xdata().tolist() == [1.0]


def test_one_that_leaps_does_not_hide_the_others(drawn):
    axes = drawn(
        standing("adam", [3.0, 2.0, 1.0]),
        standing("sgd", [3.0, 2e6, math.inf]),
        standing("momentum", [3.0, 2.0, 1.5]),
    )
    assert axes[0].get_ylim()[1] < 20


def test_a_race_that_all_have_lost_is_a_figure_too(drawn):
    axes = drawn(standing("sgd", [math.inf, math.inf, math.inf]))
    assert len(axes) == 6


def test_of_methods_that_do_the_same_the_earlier_shows_in_the_gaps_of_the_later(drawn):
    same = [standing(name, [3.0, 2.0, 1.0]) for name in ("adam", "adamw", "amsgrad")]
    axes = drawn(*same, standing("sgd", [3.0, 2.5, 1.0]))
    for panel in axes[:3]:
        lines = [line for line in panel.lines if line.get_linestyle() != "None"]
        assert [line.get_linestyle() for line in lines] == ["-", "--", "--", "-"]
        assert len({line.get_color() for line in lines}) == 4
        assert lines[1]._dash_pattern != lines[2]._dash_pattern  # in each other's gaps
    adam, adamw, amsgrad, _ = (line for line in axes[2].lines if line.get_marker() == "o")
    assert adam.get_markersize() > adamw.get_markersize() > amsgrad.get_markersize() > 1
    crosses = [line.get_ydata() for line in axes[2].lines if line.get_marker() == "x"]
    assert len({tuple(heights) for heights in crosses}) == 4  # all diverge at a rate of 1
