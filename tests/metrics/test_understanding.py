import math
import random

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.metrics.understanding import (
    answer_f1,
    confusion_scores,
    count_spans,
    has_spans,
    moment_correlation,
    ranks,
    resampled,
    score_answers,
    score_classes,
    score_numbers,
    score_tags,
    tag_spans,
)


def values(scores):
    return {score.name: score.value for score in scores}


def test_scores_of_two_classes_are_those_of_their_textbook_formulas():
    generator = random.Random(3)
    labels = [generator.randrange(2) for _ in range(200)]
    guesses = [label if generator.random() < 0.7 else 1 - label for label in labels]
    pairs = list(zip(labels, guesses, strict=True))
    tp, tn, fp, fn = (pairs.count(pair) for pair in ((1, 1), (0, 0), (0, 1), (1, 0)))
    found = values(score_classes(guesses, labels, 2, 0))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    assert found["accuracy"] == pytest.approx((tp + tn) / 200)
    assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    assert found["matthews"] == pytest.approx((tp * tn - fp * fn) / math.sqrt(product))


def test_matthews_of_a_published_example():
    # Chicco and Jurman 2020, BMC Genomics 21:6, use case A1: TP 90, FN 1, TN 0, FP 9.
    cells = np.array([[0.0, 9.0], [1.0, 90.0]])
    found = confusion_scores(cells)
    assert found["matthews"] == pytest.approx(-0.03, abs=0.005)
    assert found["f1"] == pytest.approx(0.95, abs=0.005)
    assert confusion_scores(cells / 100) == pytest.approx(found)  # rates do as well as counts


def test_three_classes_have_the_correlation_of_their_indicators():
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 3, 300)
    guesses = np.where(generator.random(300) < 0.6, labels, generator.integers(0, 3, 300))
    x, y = np.eye(3)[guesses], np.eye(3)[labels]  # Gorodkin 2004: K-category covariances

    def covariance(a, b):
        return ((a - a.mean(0)) * (b - b.mean(0))).sum()

    expected = covariance(x, y) / math.sqrt(covariance(x, x) * covariance(y, y))
    found = values(score_classes(guesses.tolist(), labels.tolist(), 3, 0))
    assert found["matthews"] == pytest.approx(expected)
    of_class = []
    for name in range(3):
        right = ((guesses == name) & (labels == name)).sum()
        of_class.append(2 * right / ((guesses == name).sum() + (labels == name).sum()))
    assert found["f1"] == pytest.approx(np.mean(of_class))


def test_one_answer_for_all_correlates_with_nothing():
    found = values(score_classes([1, 1, 1], [1, 0, 1], 2, 0))
    assert found["matthews"] == 0
    assert values(score_numbers([2.0, 2.0], [1.0, 3.0], 0)) == {"pearson": 0, "spearman": 0}


def test_correlations_are_numpys_and_ranks_share_their_ties():
    generator = np.random.default_rng(0)
    x = generator.normal(size=50)
    y = np.round(x + generator.normal(size=50))  # with ties
    found = values(score_numbers(x.tolist(), y.tolist(), 0))
    assert found["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert ranks(np.array([10.0, 20.0, 20.0, 5.0])).tolist() == [2, 3.5, 3.5, 1]
    by_hand = [
        [sum(b < a for b in s) + (sum(b == a for b in s) + 1) / 2 for a in s] for s in (x, y)
    ]
    assert found["spearman"] == pytest.approx(np.corrcoef(*by_hand)[0, 1])
    far = 1e6 + x  # a mean far from zero costs nothing
    assert values(score_numbers(far, y, 0))["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    means = x.mean(), y.mean(), (x * x).mean(), (y * y).mean(), (x * y).mean()
    assert float(moment_correlation(*means)) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_spearman_of_a_published_example():
    # The worked example of IQ and hours of television, rho = -29/165.
    intelligence = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    television = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert values(score_numbers(intelligence, television, 0))["spearman"] == pytest.approx(
        -29 / 165
    )


def test_spans_end_where_their_tags_do():
    tags = ["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-PER", "I-PER"]
    expected = [("PER", 0, 1), ("LOC", 3, 3), ("LOC", 4, 4), ("PER", 5, 6)]
    assert list(tag_spans(tags)) == expected
    assert count_spans(["B-PER", "O", "O"], ["B-PER", "I-PER", "O"]) == (0, 1, 1)
    assert has_spans(["O", "B-X", "I-X"])
    assert not has_spans(["NN", "VB", "O"])


def test_tags_are_scored_by_words_and_by_spans():
    labels = [["B-A", "I-A", "O"], ["O", "B-B"]]
    guesses = [["B-A", "I-A", "O"], ["O", "O"]]
    assert values(score_tags(guesses, labels, 0)) == pytest.approx(
        {"accuracy": 4 / 5, "span_f1": 2 * 1 / (1 + 2)}
    )
    assert values(score_tags([["N"]], [["V"]], 0)) == {"accuracy": 0}


def test_answers_are_compared_as_squad_does():
    assert answer_f1("the cat sat", "A cat, sat!") == 1
    assert answer_f1("in the year 1066", "1066") == pytest.approx(2 * (1 / 3) * 1 / (1 / 3 + 1))
    assert answer_f1("", "x") == 0
    assert answer_f1("", "the") == 1
    found = values(score_answers(["Denver Broncos", "", "no"], [["the Denver Broncos"], [], []], 0))
    assert found == pytest.approx({"exact": 2 / 3, "f1": 2 / 3})
    best = values(score_answers(["blue whale"], [["whale", "a blue whale"]], 0))
    assert best == {"exact": 1, "f1": 1}


def test_the_interval_is_that_of_a_binomial_share():
    rows = np.array([[1.0, 1.0]] * 800 + [[0.0, 1.0]] * 200)
    score = resampled("share", rows, lambda sums: sums[:, 0] / sums[:, 1], 2000)
    spread = 1.96 * math.sqrt(0.8 * 0.2 / 1000)
    assert score.value == 0.8
    assert score.low == pytest.approx(0.8 - spread, abs=0.004)
    assert score.high == pytest.approx(0.8 + spread, abs=0.004)
    again = resampled("share", rows, lambda sums: sums[:, 0] / sums[:, 1], 2000)
    assert again == score
    assert resampled("share", rows, lambda sums: sums[:, 0] / sums[:, 1], 0).low is None


def test_nothing_to_score_is_said():
    with pytest.raises(UserError, match="no examples"):
        score_classes([], [], 2)
