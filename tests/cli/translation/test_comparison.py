import json

import pytest

from landmark.recipes.training import train


def test_alignments_of_two_kinds_of_networks_stand_side_by_side(
    command, tiny_run, recurrent_run, tmp_path
):
    picture = tmp_path / "both.png"
    answer = command("figure", "alignments", tiny_run, recurrent_run, "--output", picture)
    assert answer.code == 0
    assert [line.split(":")[0] for line in answer.lines[:2]] == [tiny_run.name, recurrent_run.name]
    assert all("alignment error rate" in line and "%" in line for line in answer.lines[:2])
    assert answer.lines[2] == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_sentence_of_ones_own_is_aligned_with_its_translation_or_the_runs(
    command, recurrent_run, tmp_path
):
    words = ("figure", "alignments", recurrent_run, "--output", tmp_path / "a.svg", "--json")
    own = json.loads(command(*words, "--source", "The dog sleeps.").out)
    given = json.loads(
        command(*words, "--source", "The dog sleeps.", "--target", "Der Hund schläft.").out
    )
    assert given[0]["target"] == "Der Hund schläft."
    assert own[0]["target"] != given[0]["target"]


def test_exposure_is_measured_and_drawn(command, tiny_run, recurrent_run, tmp_path):
    picture = tmp_path / "exposure.png"
    words = ("figure", "exposure", "--split", "depth-1", "--output", picture)
    answer = command(*words, tiny_run, recurrent_run, "--json")
    assert answer.code == 0, answer.err
    facts = json.loads(answer.out)
    assert set(facts) == {tiny_run.name, recurrent_run.name}
    for fact in facts.values():
        assert 0 <= fact["free"] <= fact["forced"] + 0.05 <= 1
    assert picture.is_file()
    table = command(*words, tiny_run)
    assert table.lines[1].startswith(tiny_run.name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["alignments", "RUN", "RUN"], "is given twice"),
        (["alignments", "RUN", "--target", "Ja."], "--target needs --source"),
        (["exposure", "RUN", "--output", "x.exe"], "a figure cannot be written as 'exe'"),
        (["exposure", "RUN", "--split", "nowhere"], "nowhere"),
        (["exposure", "missing"], "missing"),
    ],
)
def test_mistakes_are_named(mistake, tiny_run, words, message):
    given = [str(tiny_run) if word == "RUN" else word for word in words]
    assert message in mistake("figure", *given)


def test_another_tasks_run_is_refused(mistake, tmp_path):
    settings = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.log_every=1"]
    run = train("gan-gaussian", tmp_path / "gan", settings).folder
    assert "gaussian" in mistake("figure", "exposure", run)
