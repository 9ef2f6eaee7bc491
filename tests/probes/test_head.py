import math

import pytest
import torch

from landmark.core.errors import UserError
from landmark.probes.head import describe_heads, find_name, join_words

TEXT = "it didn't go "
PIECES = ["it", " did", "n't", " ", "g", "o", " "]
SPANS = [(0, 2), (2, 6), (6, 9), (9, 10), (10, 11), (11, 12), (12, 13)]


def random_weights(count):
    torch.manual_seed(0)
    return torch.rand(2, 3, count, count, dtype=torch.float64).softmax(-1)


def test_words_get_what_their_tokens_get_and_look_as_those_do_in_the_mean():
    weights = random_weights(7)
    names, joined = join_words(weights, TEXT, SPANS, PIECES)
    assert names == ["it", "didn't", "go"]
    columns = {0: [0], 1: [1, 2], 2: [3, 4, 5, 6]}  # a space goes to the word after it, or the last
    rows = {0: [0], 1: [1, 2], 2: [4, 5]}  # and looks for none
    for row, looking in rows.items():
        for column, seen in columns.items():
            expected = sum(weights[..., i, j] for i in looking for j in seen) / len(looking)
            torch.testing.assert_close(joined[..., row, column], expected)
    torch.testing.assert_close(joined.sum(-1), torch.ones(2, 3, 3, dtype=torch.float64))


def test_a_special_token_is_a_word_of_its_own():
    pieces = ["[CLS]", "a", "##b", "[MASK]", "[MASK]", "c", "[SEP]"]
    spans = [None, (0, 1), (1, 2), None, None, (17, 18), None]
    names, joined = join_words(random_weights(7), "ab [MASK] [MASK] c", spans, pieces)
    assert names == ["[CLS]", "ab", "[MASK]", "[MASK]", "c", "[SEP]"]
    assert joined.shape == (2, 3, 6, 6)


def test_two_equal_words_side_by_side_are_two():
    names, _ = join_words(
        random_weights(4), "no no", [(0, 1), (1, 2), (2, 4), (4, 5)], list("nonn")
    )
    assert names == ["no", "no"]


def test_names_are_found_without_the_space_before_them():
    assert find_name([" the", " it", "."], "it") == 1
    assert find_name([" ", "a"], " ") == 0
    assert find_name(["it", "was", "it"], "it#2") == 2
    assert find_name(["it", "it#2"], "it#2") == 1
    with pytest.raises(UserError, match="'it' is there 2 times: name one as it#1 or it#2"):
        find_name(["it", "was", "it"], "it")
    with pytest.raises(UserError, match="'it' is there 2 times"):
        find_name(["it", "was", "it"], "it#3")
    with pytest.raises(UserError, match="'he' is no token of the text: choose from it was"):
        find_name(["it", "was"], "he")


def test_habits_are_told_of_heads_that_have_them():
    count = 8
    itself, previous = torch.eye(count), torch.eye(count).roll(-1, 1)
    previous[0] = torch.eye(count)[0]
    first = torch.zeros(count, count)
    first[:, 0] = 1
    even = torch.full((count, count), 1 / count)
    heads = torch.stack((itself, previous, first, even)).view(2, 2, count, count)
    habits = describe_heads(heads, [3, 4], [1, 2])
    assert [(h.layer, h.head) for h in habits] == [(3, 1), (3, 2), (4, 1), (4, 2)]
    assert [h.to_itself for h in habits] == pytest.approx([1, 1 / 8, 1 / 8, 1 / 8])
    assert [h.to_previous for h in habits] == pytest.approx([0, 1, 1 / 7, 1 / 8])
    assert [h.to_first for h in habits] == pytest.approx([1 / 8, 2 / 8, 1, 1 / 8])
    assert [h.entropy for h in habits] == pytest.approx([0, 0, 0, math.log2(8)], abs=1e-6)
    (alone,) = describe_heads(torch.ones(1, 1, 1, 1), [1], [1])
    assert (alone.to_previous, alone.to_itself) == (0, 1)
