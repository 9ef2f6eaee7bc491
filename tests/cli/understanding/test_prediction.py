import json

import pytest


def test_texts_are_labelled_line_by_line(command, fine_tuned):
    run, _ = fine_tuned
    answer = command("predict", run, "the old man", "a book", "a film", "a man")
    assert answer.code == 0, answer.err
    assert len(answer.lines) == 2
    label, probability, texts = answer.lines[0].split("\t")
    assert label in ("a", "b")
    assert 0.5 <= float(probability) <= 1
    assert texts == "the old man | a book"


def test_labels_come_as_json_with_all_probabilities(command, fine_tuned):
    run, table = fine_tuned
    answer = command("predict", run, "--file", table, "--json")
    records = [json.loads(line) for line in answer.lines]
    assert len(records) == 40
    assert set(records[0]["probabilities"]) == {"a", "b"}
    assert records[0]["probability"] == records[0]["probabilities"][records[0]["answer"]]
    assert records[0]["texts"] == ["the man old", "a book"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict"], "give texts or --file, one of the two"),
        (["predict", "a", "b", "--file", "x"], "give texts or --file, one of the two"),
        (["predict", "only one"], "reads two texts at a time, but 1 are given"),
        (["predict", "--file", "nowhere.tsv"], "nowhere.tsv: cannot be read"),
    ],
)
def test_a_mistake_is_answered_in_one_line(mistake, fine_tuned, words, message):
    name, *rest = words
    assert message in mistake(name, fine_tuned[0], *rest)


def test_a_run_is_used_for_what_it_was_trained_for(mistake, fine_tuned, tiny_run, pretrained_runs):
    assert "use `landmark predict`" in mistake("translate", fine_tuned[0], "x")
    assert "use `landmark translate`" in mistake("predict", tiny_run, "x")
    assert "--file: a translator is scored on" in mistake("evaluate", tiny_run, "--file", "x")
