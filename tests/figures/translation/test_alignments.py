"""Alignments of very small translators beside each other."""

import pytest
import torch
from matplotlib.image import imread

import landmark
from landmark.figures.translation.alignments import Aligned, Alignments, draw
from landmark.tasks.training import train
from landmark.tasks.translation.alignment import (
    GOLD_PAIRS,
    Alignment,
    AttentionChoice,
    gold_pairs,
    try_choices,
)


def test_alignments_of_two_kinds_of_networks_stand_side_by_side(
    make, tiny_run, recurrent_run, tmp_path
):
    picture = tmp_path / "both.png"
    made = make("alignments", runs=[tiny_run, recurrent_run], output=picture)
    assert [line.split(":")[0] for line in made.rows] == [tiny_run.name, recurrent_run.name]
    assert all("alignment error rate" in line and "%" in line for line in made.rows)
    assert imread(picture).std() > 0


def test_a_sentence_of_ones_own_is_aligned_with_its_translation_or_the_runs(
    make, recurrent_run, tmp_path
):
    given = {"runs": [recurrent_run], "source": "The dog sleeps.", "output": tmp_path / "a.svg"}
    (own,) = make("alignments", **given).json()["runs"]
    (told,) = make("alignments", **given, target="Der Hund schläft.").json()["runs"]
    assert list(own) == ["run", "attention", "error_rate", "target"]
    assert told["target"] == "Der Hund schläft."
    assert own["target"] != told["target"]


def test_error_rates_are_of_sentences_that_chose_no_head(make, tiny_run, tmp_path):
    pipeline = landmark.load(tiny_run)
    rates = {}
    for split in ("valid", "test"):
        trials = try_choices(pipeline, gold_pairs(pipeline, GOLD_PAIRS, split))
        rates[split] = {trial.choice: trial.score.error_rate for trial in trials}
    chosen = min(rates["valid"], key=rates["valid"].get)
    (fact,) = make("alignments", runs=[tiny_run], output=tmp_path / "a.png").json()["runs"]
    assert fact["attention"] == str(chosen)
    assert fact["error_rate"] == rates["test"][chosen] != rates["valid"][chosen]


def test_a_reversed_run_reads_the_example_in_its_own_direction(make, tiny, tmp_path):
    settings = [*tiny, "data.reverse=true", "trainer.max_steps=2"]
    run = train("transformer-embedded", tmp_path / "run", settings).folder
    (fact,) = make("alignments", runs=[run], output=tmp_path / "a.png").json()["runs"]
    assert fact["target"] == "I ate an apple."


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        (2, {}, "is given twice"),
        (1, {"target": "Ja."}, "--target needs --source"),
        (1, {"source": ""}, "--source is empty: give a sentence"),
        (1, {"source": "a", "target": " "}, "--target is empty"),
        (1, {"output": "x.exe"}, "a figure cannot be written as 'exe'"),
    ],
)
def test_mistakes_are_named(refused, tiny_run, tmp_path, monkeypatch, times, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("alignments", runs=[tiny_run] * times, **options)


def test_more_than_three_runs_fill_several_rows():
    weights = torch.tensor([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1]])
    pieces = ("a", "b", "</s>")
    words, choice = (("a", "b"), ("c", "d")), AttentionChoice(1, None, False)
    links = frozenset({(0, 0)})
    found = Alignment(*words, links, weights, pieces, pieces, weights, choice)
    runs = [Aligned(f"$run {n}$", "layer 1", 0.25, "c d", found) for n in range(5)]
    figure = draw(Alignments(runs))
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title().splitlines()[0] for axes in panels] == [run.run for run in runs]
    assert len({round(axes.get_position().y0, 2) for axes in panels}) == 2
