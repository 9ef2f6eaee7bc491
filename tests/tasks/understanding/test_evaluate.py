import json
from types import SimpleNamespace

import pytest

from landmark.core.errors import UserError
from landmark.data.understanding.example import LabeledText
from landmark.data.understanding.public import GLUE_DEV
from landmark.engine.run import Run
from landmark.tasks.labelled_texts.options import EvaluateOptions
from landmark.tasks.labelled_texts.records import TextEvaluation
from landmark.tasks.labelled_texts.verbs import evaluate


def test_a_run_is_scored_with_intervals(command, fine_tuned):
    run, table = fine_tuned
    answer = command("evaluate", run, "--file", table, "--bootstrap", 200)
    assert answer.code == 0, answer.err
    header, row = answer.lines
    assert header.split() == ["set", "examples", "accuracy", "f1", "matthews"]
    assert row.startswith(str(table))
    answer = command("evaluate", run, "--json")
    (only,) = [json.loads(line) for line in answer.lines]
    assert "note: the run has no test split" in answer.err
    assert (only["run"], only["checkpoint"]) == (str(run), Run(run).find_checkpoint().name)
    assert (only["name"], only["examples"], only["leakage"]) == ("valid", 4, None)
    accuracy = only["scores"][0]
    assert accuracy["name"] == "accuracy"
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "--split", "test"], "have no split 'test': give --file"),
        (["evaluate", "--split", "valid", "--file", "x"], "give --split or --file, not both"),
        (["evaluate", "--ten-crop"], "--ten-crop does not fit"),
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


class Sst2Pipeline:
    """A run on SST-2 where GLUE's archive is as it is said to be."""

    config = SimpleNamespace(data=SimpleNamespace(corpus="sst2"))
    checkpoint = SimpleNamespace(name="step-1")
    run = SimpleNamespace(folder="run")

    def __init__(self, splits, downloads):
        self.splits, self.downloads = splits, downloads

    def split(self, name):
        if name == GLUE_DEV and not self.downloads:
            raise UserError("SST-2.zip: could not be downloaded")
        return [LabeledText("here:1", ("good",), "1")]

    def evaluate(self, name, examples, resamples, report):
        return TextEvaluation(name, len(examples), (), None, f"what {name} is")


@pytest.mark.parametrize(
    ("splits", "downloads", "said"),
    [
        (["test", GLUE_DEV, "dev"], True, None),
        (["test", GLUE_DEV, "dev"], False, "SST-2.zip: could not be downloaded"),
        (["test", "dev"], True, "the folder that LANDMARK_DATA names has no glue-sst2"),
    ],
)
def test_sst2_is_scored_on_glues_development_set_or_says_that_it_is_not(splits, downloads, said):
    notes = []
    pipeline = Sst2Pipeline(splits, downloads)
    found = list(evaluate(pipeline, (), EvaluateOptions(bootstrap=0), notes.append))
    lines = [line for record in found for line in record.lines()]
    assert "test: what test is" in lines
    assert sum(line.startswith("set ") for line in lines) == 1
    assert (f"{GLUE_DEV}: what {GLUE_DEV} is" in lines) == (said is None)
    note = f"note: not scored on GLUE's development set (--split {GLUE_DEV}): {said}"
    assert (note in [record["text"] for record in notes]) == (said is not None)


def test_glues_development_set_that_was_asked_for_must_be_there():
    pipeline = Sst2Pipeline(["test"], downloads=False)
    options = EvaluateOptions(split=(GLUE_DEV,))
    with pytest.raises(UserError, match="could not be downloaded"):
        list(evaluate(pipeline, (), options, lambda record: None))
