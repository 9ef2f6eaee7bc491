from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from landmark.metrics.translation import Score
from landmark.plots import size
from landmark.plots.size import save_sizes
from landmark.tasks.translation.size import SizedScore


def entry(run, network, parameters, bleu, mean=None, interval=None):
    return SizedScore(run, network, parameters, Score("BLEU", bleu, "", mean, interval), None)


SCORED = [
    entry("large", "seq2seq", 2_000_000, 90.0, 89.5, 1.0),
    entry("$small$", "seq2seq", 500_000, 60.0, 60.0, 2.0),
    entry("middle", "transformer", 1_000_000, 80.0, 80.0, 1.0),
]


@pytest.fixture
def draw(monkeypatch):
    """The axes of a figure, before it becomes a file."""

    def call(scored) -> Axes:
        drawn: list[Figure] = []
        monkeypatch.setattr(size, "save_figure", lambda figure, path: drawn.append(figure))
        save_sizes(scored, "test", Path("unused.png"))
        drawn[0].canvas.draw()
        return drawn[0].axes[0]

    return call


def test_each_network_has_a_line_from_its_smallest_run_to_its_largest(draw):
    axes = draw(SCORED)
    assert axes.get_xscale() == "log"
    lines = {box.get_label(): box.lines[0].get_xydata().tolist() for box in axes.containers}
    assert lines == {
        "seq2seq": [[500_000, 60], [2_000_000, 90]],
        "transformer": [[1_000_000, 80]],
    }
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(lines)


def test_each_point_has_its_runs_name_which_is_never_read_as_a_formula(draw):
    labels = {text.get_text(): text for text in draw(SCORED).texts}
    assert {name: label.xy for name, label in labels.items()} == {
        "$small$": (500_000, 60),
        "large": (2_000_000, 90),
        "middle": (1_000_000, 80),
    }
    assert not labels["$small$"].get_parse_math()


def test_whiskers_reach_to_the_ends_of_the_interval(draw):
    recurrent, _ = draw(SCORED).containers
    (bars,) = recurrent.lines[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [[58, 62], [88.5, 90.5]]
    unknown = draw([entry("a", "seq2seq", 10, 1.0), entry("b", "seq2seq", 20, 2.0)])
    assert not unknown.containers[0].has_yerr


@pytest.mark.parametrize("most", [1_000_000, 1_010_000, 3_000_000, 40_000_000, 10_000_000_000])
def test_the_axis_has_readable_numbers_however_far_apart_the_sizes(draw, most):
    axes = draw([entry("a", "seq2seq", 1_000_000, 50.0), entry("b", "transformer", most, 60.0)])
    low, high = axes.get_xlim()
    assert low < 1_000_000 <= most < high
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    numbers = [label.get_text() for place, label in ticks if low <= place <= high]
    assert 3 <= len(numbers) <= 16
    assert len(set(numbers)) == len(numbers)
    assert all(number.endswith((" k", " M", " G")) for number in numbers)


def test_the_picture_is_written(tmp_path):
    save_sizes(SCORED, "$x$: 3 sentences", tmp_path / "sizes.png")
    assert imread(tmp_path / "sizes.png").std() > 0
