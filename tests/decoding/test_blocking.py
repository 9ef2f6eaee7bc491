import itertools

import pytest
import torch
from transformers import MinLengthLogitsProcessor, NoRepeatNGramLogitsProcessor

from landmark.decoding.beam_search import beam_search
from landmark.decoding.blocking import PADDING, Blocking
from landmark.decoding.prefix import Prefixes
from landmark.decoding.stepwise import SamplingConfig, decode_stepwise, sampler

ROWS, VOCABULARY, END = 40, 6, 2


def texts(length: int) -> torch.Tensor:
    return torch.randint(
        VOCABULARY, (ROWS, length), generator=torch.Generator().manual_seed(length)
    )


def repeats(said: tuple[int, ...], size: int) -> bool:
    ngrams = [said[start : start + size] for start in range(len(said) - size + 1)]
    return len(ngrams) > len(set(ngrams))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 9, 30])
def test_ngrams_are_blocked_as_transformers_blocks_them(size, length):
    said, scores = texts(length), torch.randn(ROWS, VOCABULARY)
    expected = NoRepeatNGramLogitsProcessor(size)(said, scores)
    assert torch.equal(Blocking(size).apply(scores, said, length, END), expected)
    if length >= 9:
        assert 0 < expected.isinf().sum() <= expected.numel()


@pytest.mark.parametrize("length", [1, 4, 5, 6])
def test_the_end_waits_as_transformers_lets_it_wait(length):
    said, scores = texts(length), torch.randn(ROWS, VOCABULARY)
    expected = MinLengthLogitsProcessor(5, END)(said, scores)
    assert torch.equal(Blocking(min_length=5).apply(scores, said, length, END), expected)
    assert expected.isinf().any() == (length < 5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_shorter_row_in_a_batch_is_blocked_as_it_is_alone(size):
    said, scores, blocking = texts(12), torch.randn(ROWS, VOCABULARY), Blocking(size)
    for padding in range(12):
        said[:, :padding] = PADDING
        expected = blocking.apply(scores, said[:, padding:], 12 - padding, END)
        assert torch.equal(blocking.apply(scores, said, 12 - padding, END), expected)


def allowed(speaker, sentence: int, limit: int, blocking: Blocking):
    """All that may be said within the limit, with its log-probability, best first."""
    words = [token for token in range(speaker.vocabulary) if token != speaker.end]
    found = []
    for length in range(limit + 1):
        for said in itertools.product(words, repeat=length):
            if length < limit and length < blocking.min_length:
                continue
            if not repeats(said, blocking.no_repeat_ngram or limit + 1):
                spoken = (*said, speaker.end) if length < limit else said
                found.append((said, speaker.total(sentence, spoken)))
    return sorted(found, key=lambda pair: -pair[1])


@pytest.mark.parametrize("blocking", [Blocking(1), Blocking(2), Blocking(None, 2), Blocking(1, 3)])
def test_a_wide_beam_finds_all_that_is_allowed_and_nothing_else(speaker, blocking):
    limits, beam = [4, 3, 4], 341
    state = speaker.start(len(limits), beam)
    found = beam_search(speaker, state, limits, 1, speaker.end, beam, 0.0, blocking=blocking)
    for sentence, hypotheses in enumerate(found):
        expected = allowed(speaker, sentence, limits[sentence], blocking)
        assert [h.tokens for h in hypotheses] == [words for words, _ in expected]
        totals = [total for _, total in expected]
        assert [h.log_probability for h in hypotheses] == pytest.approx(totals, abs=1e-5)


@pytest.mark.parametrize("draws", [False, True])
def test_greedy_words_and_draws_are_blocked_too(speaker, draws):
    limits, choose = [9] * 30, {}
    if draws:
        uniform = torch.rand(30, 9, generator=torch.Generator().manual_seed(1))
        choose = {"choose": sampler(SamplingConfig(), uniform)}

    def speak(blocking: Blocking | None) -> list[tuple[int, ...]]:
        state = speaker.start(30)
        args = speaker, state, limits, speaker.begin, speaker.end
        found = decode_stepwise(*args, **choose, blocking=blocking)
        for sentence, its in enumerate(found):
            spoken = (*its.tokens, speaker.end) if its.ended else its.tokens
            assert its.log_probability == pytest.approx(speaker.total(sentence, spoken), abs=1e-5)
        return [its.tokens for its in found]

    free, blocked = speak(None), speak(Blocking(2, 4))
    assert any(repeats(said, 2) for said in free)
    assert min(map(len, free)) < 4
    assert not any(repeats(said, 2) for said in blocked)
    assert min(map(len, blocked)) >= 4


@pytest.mark.parametrize("beam", [1, 3])
def test_a_prefix_may_repeat_itself(speaker, beam):
    prefix = (3, 4, 3, 4, 3)
    begun = Prefixes([prefix], [9], speaker.end)
    args = speaker, speaker.start(1, beam), [9], speaker.begin, speaker.end
    if beam == 1:
        found = decode_stepwise(*args, prefixes=begun, blocking=Blocking(2))
    else:
        (found,) = beam_search(*args, beam, 0.0, prefixes=begun, blocking=Blocking(2))
    for hypothesis in found:
        assert hypothesis.tokens[:5] == prefix
        assert not repeats(hypothesis.tokens[4:], 2)
        assert (3, 4) not in set(itertools.pairwise(hypothesis.tokens[4:]))
