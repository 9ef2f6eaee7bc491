import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    precision_recall_fscore_support,
    top_k_accuracy_score,
)

from landmark.core.errors import UserError
from landmark.metrics.classification import count_top, places, score_classification, wilson

NAMES = tuple("abcdefg")


def drawn(seed: int, count: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores that are often, but not always, right."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(count, len(NAMES), generator=generator)
    labels = torch.randint(len(NAMES), (count,), generator=generator)
    scores[torch.arange(count), labels] += 1
    return scores, labels


def scored(scores: torch.Tensor, labels: torch.Tensor):
    ranks = places(scores, labels)
    return score_classification(scores.argmax(1).numpy(), ranks.numpy(), labels.numpy(), NAMES)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_top_k_counts_as_scikit_learn_does(count):
    scores, labels = drawn(1)
    expected = top_k_accuracy_score(labels, scores, k=count, normalize=False)
    assert count_top(scores, labels, count) == expected


def test_a_network_that_says_the_same_of_all_classes_knows_none():
    scores, labels = torch.zeros(3, 7), torch.tensor([0, 3, 6])
    assert count_top(scores, labels, 1) == count_top(scores, labels, 6) == 0
    assert count_top(scores, labels, 7) == 3


def test_scores_are_those_of_scikit_learn():
    scores, labels = drawn(2)
    labels[labels == 4] = 3  # a class without images
    found, guesses = scored(scores, labels), scores.argmax(1)
    top1, top5 = found.scores
    assert (top1.name, top5.name) == ("top-1", "top-5")
    assert top1.value == accuracy_score(labels, guesses)
    assert top5.value == top_k_accuracy_score(labels, scores, k=5, labels=range(7))
    expected = precision_recall_fscore_support(
        labels, guesses, labels=range(len(NAMES)), zero_division=0
    )
    table = [[r.precision, r.recall, r.f1, r.images] for r in found.classes]
    np.testing.assert_allclose(np.array(table).T, np.array(expected), rtol=1e-12)
    assert found.confusion.tolist() == confusion_matrix(labels, guesses).tolist()
    assert [row.name for row in found.classes] == list(NAMES)


def test_what_a_class_is_taken_for_most_often_is_named():
    guesses, labels = [0, 1, 1, 2, 1, 1, 0], [0, 0, 0, 0, 1, 1, 2]
    found = score_classification(guesses, [0] * 7, labels, ("cat", "dog", "cow"))
    assert [row.mistaken_for for row in found.classes] == ["dog", "", "cat"]


def test_top_5_of_five_classes_would_say_nothing():
    found = score_classification([0, 1], [0, 0], [0, 1], tuple("abcde"))
    assert [score.name for score in found.scores] == ["top-1"]


@pytest.mark.parametrize("right", [0, 1, 37, 99, 100])
def test_intervals_are_wilsons(right):
    expected = binomtest(right, 100).proportion_ci(method="wilson")
    assert wilson(right, 100) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_to_score_is_refused():
    with pytest.raises(UserError, match="no images to score"):
        score_classification([], [], [], NAMES)
    with pytest.raises(UserError, match="interval"):
        wilson(0, 0)
