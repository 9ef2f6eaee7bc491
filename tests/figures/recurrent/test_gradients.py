"""Gradients of fresh networks and of very small runs."""

from functools import partial

import pytest
import torch
from matplotlib.image import imread

import landmark
from landmark.figures.recurrent.gradients import Gradients, draw
from landmark.probes import gradient
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
def short_training(monkeypatch):
    monkeypatch.setattr(gradient, "train_exploding", partial(gradient.train_exploding, steps=4))


@pytest.mark.usefixtures("short_training")
def test_gradients_of_fresh_networks_come_as_figure_and_table(make, tmp_path):
    picture = tmp_path / "out.png"
    head, *rows = make("gradients", output=picture).rows
    assert head.split() == ["distance", "1", "10", "50", "99"]
    table = {row.split(": ")[0]: row.split()[2:] for row in rows[:5]}
    assert table.keys() == {"rnn", "lstm", "gru", "transformer"}
    assert float(table["rnn"][-1]) < 1e-20 < float(table["lstm"][-1])
    assert float(table["transformer"][-1]) > 1e-4
    assert rows[5:7] == ["1.01^1000 = 20,959", "0.99^1000 = 4.3171e-05"]
    assert rows[7].startswith("largest singular value: rnn 1.1")
    assert rows[8].startswith("exploding RNN, not clipped: loss 2.")
    assert rows[9].startswith("exploding RNN, clipped to 1: loss 2.")
    assert len(rows) == 10
    assert imread(picture).shape[:2] == (1350, 1950)


@pytest.mark.usefixtures("short_training")
def test_runs_are_drawn_beside_fresh_networks(make, runs, tmp_path):
    picture, run = tmp_path / "out.svg", runs / "gru"
    given = {"runs": [run, run, runs / "subwords"], "length": 12, "seed": 3, "output": picture}
    record = make("gradients", **given).json()
    keys = ["figure", "length", "seed", "flows", "toy", "singular_values", "clipping"]
    assert list(record) == keys
    places = [f["place"] for f in record["flows"] if f["network"] == str(run)]
    assert places == ["h, layer 1", "h, layer 2"]
    assert {len(flow["norms"]) for flow in record["flows"]} == {12}
    assert len({flow["network"] for flow in record["flows"]}) == 6
    gates = [s["gate"] for s in record["singular_values"] if s["network"] == str(run)]
    assert gates[:3] == ["reset, layer 1", "update, layer 1", "candidate, layer 1"]
    assert record["toy"].keys() == {"1.01", "0.99"}
    assert [len(t["losses"]) for t in record["clipping"]] == [4, 4]
    assert "gru" in picture.read_text()
    # What the run reads is what it writes with this seed.
    pipeline = landmark.load(run)
    written = pipeline.generate(length=13, samples=16, seed=3)
    tokens = torch.tensor([text.tokens for text in written])
    expected = gradient.recurrent_flows(str(run), pipeline.model, tokens)
    assert [list(flow.norms) for flow in expected] == [
        f["norms"] for f in record["flows"] if f["network"] == str(run)
    ]


@pytest.mark.usefixtures("short_training")
def test_a_short_length_has_a_short_table(make, tmp_path):
    made = make("gradients", length=2, output=tmp_path / "g.pdf")
    assert made.rows[0].split() == ["distance", "1"]


def test_unfit_runs_and_lengths_are_refused(refused, tiny_run, pretrained_runs, tmp_path):
    given = {"output": tmp_path / "g.png"}
    said = refused("gradients", runs=[tiny_run], **given)
    assert "is a run of task 'translation', not 'language-model'" in said
    assert "has no recurrent layers" in refused("gradients", runs=[pretrained_runs["gpt"]], **given)
    assert "there is no such run" in refused("gradients", runs=[tmp_path / "no"], **given)
    assert "--length" in refused("gradients", length=1, **given)
    assert "cannot be written" in refused("gradients", output=tmp_path / "x.txt2")


def drawn(flows):
    return draw(Gradients(3, 1, flows, TOY, SPECTRA, TRAININGS))


@pytest.fixture
def panels():
    return drawn(FLOWS).axes


def test_networks_of_many_states_have_panels_of_their_own():
    names = ("fresh", "fresh2", "run", "other")
    flows = [Flow(name, f"h, layer {n}", (0.5, 0.1, 0.2)) for name in names for n in (1, 2, 3)]
    first, second, *_ = drawn([*FLOWS, *flows]).axes
    counts = [len(axes.lines) for axes in drawn([*FLOWS, *flows]).axes]
    assert counts[:3] == [6, 6, 3]
    assert first.get_ylim() == second.get_ylim()


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
    assert lines(norm) == {"not clipped": [1.0, 80.0, 9.0], "clipped to norm 1": [1.0, 2.0, 0.1]}
    assert lines(loss) == {"not clipped": [2.0, 2.5, 3.0], "clipped to norm 1": [2.0, 1.0, 0.5]}
    assert norm.get_yscale() == "log"


def test_the_figure_is_drawn_dollars_and_all(tmp_path):
    drawn(FLOWS).savefig(tmp_path / "g.png")
    assert imread(tmp_path / "g.png").std() > 0
