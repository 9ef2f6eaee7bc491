"""Tagging metrics against scikit-learn's and counts by hand."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from landmark.core.errors import UserError
from landmark.metrics.tagging import average_precisions, best_tags, score_tagging


def drawn(decimals: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    is_true = random.random((60, 9)) < np.linspace(0.05, 0.9, 9)
    scores = np.round(random.normal(size=(60, 9)) + is_true, decimals)
    return scores, is_true


@pytest.mark.parametrize("decimals", [6, 0])  # rounded to integers, most scores are equal
def test_average_precision_is_that_of_scikit_learn(decimals: int) -> None:
    scores, is_true = drawn(decimals)
    expected = [average_precision_score(is_true[:, k], scores[:, k]) for k in range(9)]
    assert np.std(expected) > 0.1
    np.testing.assert_allclose(average_precisions(scores, is_true), expected)


def test_average_precision_by_hand() -> None:
    # Ranked: right, wrong, right, wrong: (1/1 + 2/3) / 2.
    scores = np.array([[0.9], [0.7], [0.5], [0.1]])
    is_true = np.array([[True], [False], [True], [False]])
    assert average_precisions(scores, is_true).tolist() == pytest.approx([5 / 6])
    assert np.isnan(average_precisions(scores, np.zeros((4, 1), bool))).all()


def test_a_tagger_that_knows_nothing_has_the_share_of_a_tags_images() -> None:
    _, is_true = drawn(6)
    same = np.broadcast_to(np.linspace(0, 1, 9), is_true.shape)
    np.testing.assert_allclose(average_precisions(same, is_true), is_true.mean(0))
    scores = score_tagging(same, is_true, tuple("abcdefghi"))
    assert scores.mean_average_precision == pytest.approx(is_true.mean())
    assert [row.chance for row in scores.tags] == [row.average_precision for row in scores.tags]


def test_precision_and_recall_of_the_best_by_hand() -> None:
    scores = np.array([[4, 3, 2, 1], [1, 2, 3, 4], [4, 3, 2, 1]])
    is_true = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]], bool)
    precision, recall = best_tags(scores, is_true, 2)
    assert precision == pytest.approx((1 + 2 + 0) / (3 * 2))
    assert recall == pytest.approx((1 / 3 + 2 / 2) / 2)  # the third image has none
    assert best_tags(scores, is_true, 9) == best_tags(scores, is_true, 4)


def test_tags_of_no_image_do_not_count() -> None:
    is_true = np.array([[1, 0], [0, 0]], bool)
    scores = score_tagging(np.array([[0.2, 0.9], [0.1, 0.9]]), is_true, ("dog", "cat"))
    assert scores.mean_average_precision == 1.0
    (row,) = scores.tags
    assert (row.name, row.images, row.chance) == ("dog", 1, 0.5)


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(UserError, match="there are no images to score"):
        average_precisions(np.zeros((0, 3)), np.zeros((0, 3), bool))
    with pytest.raises(UserError, match="none of the images has one of the 2 tags"):
        score_tagging(np.zeros((3, 2)), np.zeros((3, 2), bool), ("a", "b"))
