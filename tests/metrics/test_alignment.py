import pytest

from landmark.metrics.alignment import score_alignments


def test_the_error_rate_is_that_of_the_formula_worked_by_hand():
    found = [{(0, 0), (1, 1), (2, 2), (3, 0)}, {(0, 1)}]
    sure = [{(0, 0), (1, 1), (1, 2)}, {(0, 0)}]
    possible = [{(2, 2)}, {(0, 1)}]
    score = score_alignments(found, sure, possible)
    # |A| = 5, |S| = 4, |A n S| = 2, |A n P| = 4 (the sure ones are possible too)
    assert score.precision == pytest.approx(4 / 5)
    assert score.recall == pytest.approx(2 / 4)
    assert score.error_rate == pytest.approx(1 - (2 + 4) / (5 + 4))
    assert score.sentences == 2


def test_without_possible_links_it_is_one_minus_f():
    found, sure = [{(0, 0), (1, 1)}], [{(0, 0), (1, 2), (2, 2)}]
    score = score_alignments(found, sure)
    precision, recall = 1 / 2, 1 / 3
    assert (score.precision, score.recall) == (precision, pytest.approx(recall))
    assert score.error_rate == pytest.approx(1 - 2 * precision * recall / (precision + recall))


def test_gold_is_perfect_and_nothing_found_is_all_wrong():
    sure = [{(0, 0)}, {(1, 0), (2, 1)}]
    assert score_alignments(sure, sure).error_rate == 0
    empty = score_alignments([set(), set()], sure)
    assert (empty.precision, empty.recall, empty.error_rate) == (1, 0, 1)


def test_unequal_numbers_of_sentences_are_refused():
    with pytest.raises(ValueError, match="zip"):
        score_alignments([set()], [set(), set()])
