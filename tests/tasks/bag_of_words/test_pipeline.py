"""Predictions and scores of a regression on words, beside scikit-learn's of the same weights."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

import landmark
from landmark.core.errors import UserError
from landmark.engine.run import Run


@pytest.fixture(scope="module")
def pipeline(bag_run):
    return landmark.load(bag_run)


@pytest.fixture(scope="module")
def by_sklearn(pipeline):
    """The same weights in scikit-learn: from texts to probabilities."""
    counted = CountVectorizer(
        binary=True, token_pattern=r"\S+", vocabulary=list(pipeline.words.words)
    )
    regression = LogisticRegression()
    weight = pipeline.model.weight.detach().double().numpy()
    bias = pipeline.model.bias.detach().double().numpy()
    regression.classes_ = np.array(pipeline.labels.names)
    regression.coef_, regression.intercept_ = (weight[:, 1:] - weight[:, :1]).T, bias[1:] - bias[:1]
    return lambda texts: regression.predict_proba(counted.transform(texts))


def test_probabilities_are_those_of_scikit_learn(pipeline, by_sklearn, texts):
    given = [text for text, _ in texts[1]]
    found = pipeline.predict(given)
    for one, expected in zip(found, by_sklearn(given), strict=True):
        assert list(one.probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-6)
        assert one.probability == max(one.probabilities.values())
    odd = pipeline.predict(["good good GOOD unheard-of", "unheard-of"])
    assert list(odd[0].probabilities.values()) == pytest.approx(by_sklearn(["good"])[0], abs=1e-6)
    assert list(odd[1].probabilities.values()) == pytest.approx(by_sklearn([""])[0], abs=1e-6)


def test_scores_are_those_of_scikit_learn_and_of_the_log(pipeline, by_sklearn, texts, bag_run):
    given, right = [text for text, _ in texts[1]], [label for _, label in texts[1]]
    probabilities = by_sklearn(given)
    said = np.array(["bad", "good"])[probabilities.argmax(1)]
    found = pipeline.evaluate("valid", pipeline.split("valid"), 200)
    values = {score.name: score.value for score in found.scores}
    assert values["accuracy"] == accuracy_score(right, said) > 0.9
    assert values["f1"] == pytest.approx(f1_score(right, said, pos_label="good"))
    assert values["matthews"] == pytest.approx(matthews_corrcoef(right, said))
    assert values["loss"] == pytest.approx(log_loss(right, probabilities), abs=1e-6)
    logged = [r for r in Run(bag_run).read_log() if r["kind"] == "valid"][-1]
    assert values["loss"] == pytest.approx(logged["loss"], abs=1e-5)
    assert values["accuracy"] == pytest.approx(logged["accuracy"])
    loss = found.scores[-1]
    assert loss.low < loss.value < loss.high


def test_texts_are_labelled_and_scored_on_the_command_line(command, bag_run, texts, tmp_path):
    answer = command("predict", bag_run, "good fine", "film dull dull")
    assert answer.code == 0, answer.err
    assert [line.split("\t")[0] for line in answer.lines] == ["good", "bad"]
    assert answer.lines[0].endswith("\tgood fine")
    answer = command("predict", bag_run, "--file", texts[0], "--json")
    assert [json.loads(line)["texts"] for line in answer.lines] == [[text] for text, _ in texts[1]]
    answer = command("evaluate", bag_run, "--file", texts[0], "--bootstrap", "0")
    assert answer.code == 0, answer.err
    header, row = answer.lines
    assert header.split() == ["set", "examples", "accuracy", "f1", "matthews", "loss"]
    assert row.split()[:2] == [str(texts[0]), "40"]
    (record,) = [json.loads(x) for x in command("evaluate", bag_run, "--json").lines]
    assert record["scores"][-1]["name"] == "loss"
    assert float(row.split()[-1]) == pytest.approx(record["scores"][-1]["value"], abs=1e-4)


def test_mistakes_are_one_line(mistake, bag_run, tmp_path):
    (tmp_path / "new.tsv").write_text("text\tlabel\na\tmiddling\n")
    said = mistake("evaluate", bag_run, "--file", tmp_path / "new.tsv")
    assert "new.tsv:2: the label 'middling' was never seen" in said
    assert "example 1: is empty" in mistake("predict", bag_run, " ")


def test_what_is_no_text_is_a_users_error(pipeline):
    with pytest.raises(UserError, match="text 1: is NoneType: give a text"):
        pipeline.predict([None])
