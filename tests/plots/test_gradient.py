import pytest
from matplotlib.image import imread

from landmark.plots import gradient
from landmark.plots.gradient import save_gradients
from landmark.probes.gradient import Flow, Spectrum, Training

FLOWS = [
    Flow("lstm", "h", (0.5, 1e-3, 1e-9)),
    Flow("lstm", "c", (0.6, 1e-2, 1e-40)),
    Flow("runs/$a$_b", "h, layer 1", (0.7, 0.0, 0.0)),  # a dead network's gradients are 0
]
TOY = {1.01: [1.0, 1.01, 1.0201], 0.99: [1.0, 0.99, 0.9801]}
SPECTRA = [
    Spectrum("lstm", "forget", (3.0, 1.0, 0.2)),
    Spectrum("runs/$a$_b", "hidden", (2.0, 0.1)),
]
TRAININGS = [
    Training(None, (2.0, 2.5, 3.0), (1.0, 80.0, 9.0)),
    Training(1.0, (2.0, 1.0, 0.5), (1.0, 2.0, 0.1)),
]


@pytest.fixture
def panels(monkeypatch, tmp_path):
    """The drawn figure's panels."""
    kept = []
    monkeypatch.setattr(gradient, "save_figure", lambda figure, path: kept.append(figure))
    save_gradients(FLOWS, TOY, SPECTRA, TRAININGS, tmp_path / "g.png")
    return kept[0].axes


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


def test_flows_are_drawn_over_time_the_last_step_at_the_right(panels):
    flow = panels[0]
    assert lines(flow) == {
        "lstm: h": [1e-9, 1e-3, 0.5],
        "lstm: c": [1e-40, 1e-2, 0.6],
        "runs/$a$_b: h, layer 1": [0.0, 0.0, 0.7],
    }
    assert [list(line.get_xdata()) for line in flow.lines] == [[1, 2, 3]] * 3
    assert flow.get_yscale() == "log"
    one, other, run = flow.lines
    assert one.get_color() == other.get_color() != run.get_color()
    assert one.get_linestyle() != other.get_linestyle()


def test_the_toy_the_singular_values_and_the_trainings_have_their_panels(panels):
    _, toy, spectrum, norm, loss = panels
    assert lines(toy) == {
        "w = 1.01: 1.0201 in the end": TOY[1.01],
        "w = 0.99: 0.9801 in the end": TOY[0.99],
    }
    first, second, one = spectrum.lines
    assert list(first.get_ydata()) == [3.0, 1.0, 0.2]
    assert list(second.get_xdata()) == [1, 1]
    assert list(one.get_ydata()) == [1, 1]
    names = [label.get_text() for label in spectrum.get_xticklabels()]
    assert names == ["lstm: forget", "runs/$a$_b: hidden"]
    assert lines(norm) == {"as it is": [1.0, 80.0, 9.0], "clipped to norm 1": [1.0, 2.0, 0.1]}
    assert lines(loss) == {"as it is": [2.0, 2.5, 3.0], "clipped to norm 1": [2.0, 1.0, 0.5]}
    assert norm.get_yscale() == "log"


def test_the_figure_is_written_dollars_and_all(tmp_path):
    save_gradients(FLOWS, TOY, SPECTRA, TRAININGS, tmp_path / "g.png")
    height, width = imread(tmp_path / "g.png").shape[:2]
    assert (height, width) == (1350, 1950)
