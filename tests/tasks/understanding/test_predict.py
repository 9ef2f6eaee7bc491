import io
import json
import sys

import pytest

from landmark.tasks.training import train


def feed(monkeypatch, tmp_path, content: bytes):
    """Bytes on standard input."""
    path = tmp_path / "stdin"
    path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(path.open("rb")))


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


def test_each_line_of_json_is_pythons_prediction(command, fine_tuned):
    import landmark

    run, table = fine_tuned
    answer = command("predict", run, "--file", table, "--json")
    pipeline = landmark.load(run)
    found = pipeline.predict(pipeline.read_file(table, labeled=False))
    assert [json.loads(line) for line in answer.lines] == [one.json() for one in found]


def test_lines_of_stdin_go_together_in_twos(command, fine_tuned, monkeypatch, tmp_path):
    run, _ = fine_tuned
    feed(monkeypatch, tmp_path, b"the man\na book\nthe woman\na film\n")
    answer = command("predict", run, "--json")
    assert answer.code == 0, answer.err
    texts = [json.loads(line)["texts"] for line in answer.lines]
    assert texts == [["the man", "a book"], ["the woman", "a film"]]


def test_a_bad_line_spoils_its_own_pair_alone(command, fine_tuned, monkeypatch, tmp_path):
    run, _ = fine_tuned
    feed(monkeypatch, tmp_path, b"the man\n\xff\nthe woman\na film\n\na book\nthe film\n")
    answer = command("predict", run, "--json")
    assert answer.code == 0
    records = [json.loads(line) for line in answer.lines]
    whole = [record["texts"] for record in records if "texts" in record]
    assert whole == [["the woman", "a film"]]
    assert "stdin:2: not valid UTF-8: skipped" in answer.err
    assert "stdin:5: is empty: skipped" in answer.err
    assert answer.err.count("reads two texts at a time, but 1 are given: skipped") == 2


def test_an_output_is_gone_on_with_after_an_interruption(command, fine_tuned, tmp_path):
    run, table = fine_tuned
    whole = command("predict", run, "--file", table)
    answer = command("predict", run, "--file", table, "--output", tmp_path / "found.tsv")
    assert answer.code == 0, answer.err
    assert (tmp_path / "found.tsv").read_text() == whole.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "a", "b", "--file", "x"], "give texts or --file, not both"),
        (["predict", "only one"], "reads two texts at a time, but 1 are given"),
        (["predict", " ", "b"], "example 1: is empty"),
        (["predict", "--file", "nowhere.tsv"], "nowhere.tsv: there is no such file"),
    ],
)
def test_a_mistake_is_answered_in_one_line(mistake, fine_tuned, words, message):
    name, *rest = words
    assert message in mistake(name, fine_tuned[0], *rest)


def test_a_run_is_used_for_what_it_was_trained_for(mistake, fine_tuned, digits_run):
    said = mistake("classify", fine_tuned[0], "x.png")
    assert "task 'understanding', which has no classify: it has evaluate, predict" in said
    assert "which has no predict: it has evaluate, classify" in mistake("predict", digits_run, "x")


def test_choices_and_tags_are_answered_by_hand(command, pretrained_runs, tmp_path):
    choices = "".join(
        f"the man\tthe {w}\ta {w}\t{n % 2}\n" for n, w in enumerate(["old", "bad"] * 6)
    )
    tagged = "\n\n".join("the\tO\nold\tB-X\nman\tO" for _ in range(12))
    kinds = {
        "choice": ("c.tsv", "text\tone\ttwo\tlabel\n" + choices, ["data.choices=[one, two]"]),
        "tagging": ("t.conll", tagged + "\n", []),
    }
    for kind, (name, text, settings) in kinds.items():
        (tmp_path / name).write_text(text)
        own = [f"data.kind={kind}", f"data.train={tmp_path / name}", "trainer.max_steps=1"]
        begun = f"init_from={pretrained_runs['bert']}"
        train("understanding", tmp_path / kind, [*own, begun, "threads=1", *settings])
    answer = command(
        "predict", tmp_path / "choice", "the man", "the old", "a bad", "a film", "--json"
    )
    (record,) = [json.loads(line) for line in answer.lines]
    assert record["choices"] == ["the old", "a bad", "a film"]
    assert record["answer"] == record["choices"][record["number"]]
    answer = command("predict", tmp_path / "tagging", "the old man")
    assert [line.split("\t")[0] for line in answer.lines] == ["the", "old", "man", ""]
