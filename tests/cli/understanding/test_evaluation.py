import json

import pytest


def test_a_run_is_scored_with_intervals(command, fine_tuned):
    run, table = fine_tuned
    answer = command("evaluate", run, "--file", table, "--bootstrap", 200)
    assert answer.code == 0, answer.err
    header, row = answer.lines
    assert header.split() == ["set", "examples", "accuracy", "f1", "matthews"]
    assert row.startswith(str(table))
    found = json.loads(command("evaluate", run, "--json").out)
    (only,) = found["sets"]
    assert (only["name"], only["examples"], only["leakage"]) == ("valid", 4, None)
    accuracy = only["scores"][0]
    assert accuracy["name"] == "accuracy"
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "--split", "test"], "have no split 'test': give --file"),
        (["evaluate", "--split", "valid", "--file", "x"], "give --split or --file, not both"),
        (["evaluate", "--beam", "4"], "--beam: is for translators"),
        (["evaluate", "--source", "x"], "--source: is for translators"),
    ],
)
def test_a_mistake_is_answered_in_one_line(mistake, fine_tuned, words, message):
    name, *rest = words
    assert message in mistake(name, fine_tuned[0], *rest)


def test_bad_files_are_named_with_their_lines(mistake, fine_tuned, tmp_path):
    run, _ = fine_tuned
    path = tmp_path / "bad.tsv"
    path.write_text("text\ttext2\tlabel\nx\ty\tc\n")
    assert f"{path}:2: the label 'c' was never seen" in mistake("evaluate", run, "--file", path)
    path.write_text("text\tlabel\nx\ta\n")
    assert f"{path}:1: has no column 'text2'" in mistake("evaluate", run, "--file", path)
    path.write_text("text\ttext2\tlabel\nx\ty\ta\nx\ty\n")
    assert f"{path}:3: has 2 columns" in mistake("evaluate", run, "--file", path)
    path.write_text("")
    assert f"{path}: is empty" in mistake("evaluate", run, "--file", path)


def test_a_fine_tuning_without_a_pretrained_run_says_how_to_get_one(mistake, fine_tuned, tmp_path):
    said = mistake("train", "bert-sst2", "--run", tmp_path / "run")
    assert "--init-from RUN" in said
    assert "bert-reading" in said
