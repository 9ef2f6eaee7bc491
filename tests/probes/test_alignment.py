import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.probes.alignment import NO_WORD, most_watched, word_attention, words_of_tokens


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train(["der Hund läuft schnell"], TokenizerConfig(vocab_size=260))


@pytest.mark.parametrize("text", ["ab  cd", " x y ", "grün 猫😀", "", "a.b, c"])
def test_every_token_belongs_to_the_word_it_is_in(tokenizer, text):
    words = text.split()
    owners = words_of_tokens(tokenizer, text, words)
    tokens = tokenizer.encode([text])[0]
    assert len(owners) == len(tokens)
    groups = [
        [token for token, owner in zip(tokens, owners, strict=True) if owner == number]
        for number in range(len(words))
    ]
    assert [part.strip() for part in tokenizer.decode(groups)] == words


def test_words_may_be_finer_than_spaces(tokenizer):
    owners = words_of_tokens(tokenizer, "Hund.", ["Hund", "."])
    assert owners[-1] == 1
    assert set(owners) - {NO_WORD} == {0, 1}  # here the space before is a token of its own


def test_words_that_are_not_in_the_text_are_refused(tokenizer):
    with pytest.raises(UserError, match="'Katze' is not a word of 'der Hund'"):
        words_of_tokens(tokenizer, "der Hund", ["der", "Katze"])


# Two source words of two and one pieces, then </s>; two target words of one and two pieces.
WEIGHTS = torch.tensor(
    [
        [0.1, 0.2, 0.3, 0.4],
        [0.4, 0.4, 0.1, 0.1],
        [0.0, 0.2, 0.6, 0.2],
        [0.7, 0.1, 0.1, 0.1],
    ]
)
SOURCE, TARGET = [0, 0, 1, NO_WORD], [0, 1, 1]


def test_pieces_of_a_source_word_add_up_and_those_of_a_target_word_are_averaged():
    soft = word_attention(WEIGHTS, TARGET, SOURCE, shifted=False)
    expected = torch.tensor([[0.3, 0.3, 0.4], [0.5, 0.35, 0.15]])
    torch.testing.assert_close(soft, expected)
    shifted = word_attention(WEIGHTS, TARGET, SOURCE, shifted=True)
    torch.testing.assert_close(shifted, torch.tensor([[0.8, 0.1, 0.1], [0.5, 0.35, 0.15]]))


def test_many_heads_are_taken_at_once():
    heads = torch.stack((WEIGHTS, WEIGHTS.flip(0)))[None]
    soft = word_attention(heads, TARGET, SOURCE, shifted=False)
    assert soft.shape == (1, 2, 2, 3)
    torch.testing.assert_close(soft[0, 0], word_attention(WEIGHTS, TARGET, SOURCE, False))


def test_a_link_goes_to_a_word_even_if_none_is_looked_at_more():
    assert most_watched(torch.tensor([[0.3, 0.2, 0.5], [0.1, 0.8, 0.1]])).tolist() == [0, 1]
