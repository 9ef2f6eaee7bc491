"""Exposure bias of very small translators."""

import pytest
import torch
from matplotlib.image import imread

from landmark.figures.translation.exposure import ExposureBias, draw
from landmark.probes.exposure import Exposure

RIGHT = Exposure(torch.tensor([90, 80, 4]), torch.tensor([90, 60, 1]), torch.tensor([100, 100, 5]))


def test_exposure_is_measured_on_files_too(make, tiny_run, tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("The dog sleeps.\nI ate an apple.\n" + "The dog sleeps. " * 80 + "\n")
    reference.write_text("Der Hund schläft.\nIch habe einen Apfel gegessen.\nJa.\n")
    picture = tmp_path / "exposure.png"
    given = {"source": source, "reference": reference, "output": picture}
    made = make("exposure", runs=[tiny_run], **given)
    assert made.rows[1].startswith(tiny_run.name)
    assert made.warnings == (f"{tiny_run.name}: skipped 1 pairs that are too long for the model",)


def test_exposure_is_measured_and_drawn(make, tiny_run, recurrent_run, tmp_path):
    picture = tmp_path / "exposure.png"
    made = make("exposure", runs=[tiny_run, recurrent_run], split="depth-1", output=picture)
    facts = made.json()["runs"]
    assert set(facts) == {tiny_run.name, recurrent_run.name}
    for fact in facts.values():
        assert list(fact) == ["forced", "free"]
        assert 0 <= fact["free"] <= fact["forced"] + 0.05 <= 1
    assert imread(picture).std() > 0


@pytest.mark.parametrize(
    ("run", "options", "message"),
    [
        ("RUN", {"output": "x.exe"}, "a figure cannot be written as 'exe'"),
        ("RUN", {"split": "nowhere"}, "nowhere"),
        ("missing", {}, "missing"),
        ("RUN", {"source": "a.en"}, "--source and --reference go together"),
    ],
)
def test_mistakes_are_named(refused, tiny_run, tmp_path, monkeypatch, run, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("exposure", runs=[tiny_run if run == "RUN" else run], **options)


def test_each_run_has_a_line_for_both_ways_where_there_are_enough_tokens():
    (axes,) = draw(ExposureBias({"$a$": RIGHT, "b": RIGHT})).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["$a$, after the right words"] == pytest.approx([90, 80])
    assert lines["b, after its own"] == pytest.approx([90, 60])


def test_many_runs_have_a_panel_each():
    panels = draw(ExposureBias({f"run {number}": RIGHT for number in range(4)})).axes
    assert [axes.get_title() for axes in panels if axes.lines] == [f"run {n}" for n in range(4)]
    assert {len(axes.lines) for axes in panels if axes.lines} == {2}
