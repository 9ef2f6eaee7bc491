import json
import shutil

import pytest

import landmark
from landmark.tasks.training import train
from landmark.tasks.translation.alignment import GOLD_PAIRS, gold_pairs, try_choices


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


def test_error_rates_are_of_sentences_that_chose_no_head(command, tiny_run, tmp_path):
    pipeline = landmark.load(tiny_run)
    rates = {}
    for split in ("valid", "test"):
        trials = try_choices(pipeline, gold_pairs(pipeline, GOLD_PAIRS, split))
        rates[split] = {trial.choice: trial.score.error_rate for trial in trials}
    chosen = min(rates["valid"], key=rates["valid"].get)
    picture = tmp_path / "picture.png"
    (fact,) = json.loads(
        command("figure", "alignments", tiny_run, "--output", picture, "--json").out
    )
    assert fact["attention"] == str(chosen)
    assert fact["error_rate"] == rates["test"][chosen] != rates["valid"][chosen]


def test_a_reversed_run_reads_the_example_in_its_own_direction(command, tiny, tmp_path):
    settings = [*tiny, "data.reverse=true", "trainer.max_steps=2"]
    run = train("transformer-embedded", tmp_path / "run", settings).folder
    picture = tmp_path / "picture.png"
    answer = command("figure", "alignments", run, "--output", picture, "--json")
    assert json.loads(answer.out)[0]["target"] == "I ate an apple."


def test_exposure_is_measured_on_files_too(command, tiny_run, tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("The dog sleeps.\nI ate an apple.\n")
    reference.write_text("Der Hund schläft.\nIch habe einen Apfel gegessen.\n")
    words = ("figure", "exposure", tiny_run, "--output", tmp_path / "exposure.png")
    answer = command(*words, "--source", source, "--reference", reference)
    assert answer.code == 0, answer.err
    assert answer.lines[1].startswith(tiny_run.name)


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


def test_sizes_are_scored_as_evaluate_does_and_drawn(
    command, tiny_run, recurrent_run, own_data, tmp_path
):
    text = ("--source", own_data.source, "--reference", own_data.target, "--beam", 2)
    picture = tmp_path / "sizes.svg"
    words = ("figure", "sizes", tiny_run, recurrent_run, *text, "--output", picture)
    answer = command(*words, "--json")
    assert answer.code == 0, answer.err
    facts = json.loads(answer.out)
    assert [(fact["run"], fact["network"]) for fact in facts] == [
        (recurrent_run.name, "seq2seq"),
        (tiny_run.name, "transformer"),
    ]
    for run, fact in zip((recurrent_run, tiny_run), facts, strict=True):
        evaluated = json.loads(command("evaluate", run, *text, "--json").out)
        bleu = evaluated["sets"][0]["scores"][0]
        assert (fact["bleu"], fact["interval"]) == (bleu["value"], bleu["interval"])
        assert fact["signature"] == bleu["signature"]
    drawn = picture.read_text()
    for written in ("own.en: 120 sentences", "seq2seq", "transformer"):
        assert f"<!-- {written} -->" in drawn


def test_sizes_are_a_table(command, tiny_run, recurrent_run, tmp_path, monkeypatch):
    monkeypatch.setattr("landmark.tasks.translation.evaluation.EMBEDDED_TEST_PAIRS", 50)
    picture = tmp_path / "sizes.png"
    words = ("figure", "sizes", "--beam", 1, "--output", picture)
    answer = command(*words, tiny_run, recurrent_run)
    assert answer.code == 0, answer.err
    head, recurrent, transformer, signature, place = answer.lines
    assert head.split() == ["run", "network", "parameters", "BLEU", "minutes"]
    assert recurrent.split()[:2] == [recurrent_run.name, "seq2seq"]
    assert transformer.split()[:2] == [tiny_run.name, "transformer"]
    assert all(" ± " in line for line in (recurrent, transformer))
    assert signature.startswith("BLEU: nrefs:1|bs:1000|")
    assert place == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_runs_of_one_name_are_told_apart_by_their_folders(
    command, tiny_run, recurrent_run, own_data, tmp_path
):
    one, two = (tmp_path / place / "run" for place in ("one", "two"))
    shutil.copytree(tiny_run, one)
    shutil.copytree(recurrent_run, two)
    text = ("--source", own_data.source, "--reference", own_data.target, "--beam", 1)
    answer = command("figure", "sizes", one, two, *text, "--output", tmp_path / "a.png", "--json")
    assert [fact["run"] for fact in json.loads(answer.out)] == [str(two), str(one)]


def test_sizes_of_runs_of_different_data_are_refused(
    mistake, tiny_run, recurrent_run, tmp_path, rewrite_recipe
):
    other = shutil.copytree(recurrent_run, tmp_path / "other")
    rewrite_recipe(other, "corpus_seed: 1", "corpus_seed: 2")
    said = mistake("figure", "sizes", tiny_run, other, "--output", tmp_path / "a.png")
    assert said.startswith(f"{other}: was trained on other data than {tiny_run}: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["alignments", "RUN", "RUN"], "is given twice"),
        (["alignments", "RUN", "--target", "Ja."], "--target needs --source"),
        (["exposure", "RUN", "--output", "x.exe"], "a figure cannot be written as 'exe'"),
        (["exposure", "RUN", "--split", "nowhere"], "nowhere"),
        (["exposure", "missing"], "missing"),
        (["exposure", "RUN", "--source", "a.en"], "--source and --reference go together"),
        (["alignments", "RUN", "--source", ""], "--source is empty: give a sentence"),
        (["alignments", "RUN", "--source", "a", "--target", " "], "--target is empty"),
        (["sizes", "RUN"], "give at least two"),
        (["sizes", "RUN", "RUN"], "is given twice"),
        (["sizes", "RUN", "OTHER", "--split", "nowhere"], "unknown split 'nowhere'"),
        (["sizes", "RUN", "OTHER", "--source", "a.en"], "--source and --reference go together"),
        (
            ["sizes", "RUN", "OTHER", "--split=a", "--source=b", "--reference=c"],
            "give --split or --source and --reference",
        ),
        (["sizes", "missing", "RUN", "--output", "no/a.png"], "there is no folder no"),
        (["sizes", "RUN", "OTHER", "--to", "fr"], "does not translate into 'fr'"),
    ],
)
def test_mistakes_are_named(mistake, tiny_run, recurrent_run, words, message):
    runs = {"RUN": str(tiny_run), "OTHER": str(recurrent_run)}
    assert message in mistake("figure", *(runs.get(word, word) for word in words))


def test_another_tasks_run_is_refused(mistake, tiny_run, tmp_path):
    settings = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.log_every=1"]
    run = train("gan-gaussian", tmp_path / "gan", settings).folder
    assert "gaussian" in mistake("figure", "exposure", run)
    assert f"{run}: is a run of task" in mistake("figure", "sizes", tiny_run, run)
