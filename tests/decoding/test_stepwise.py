import math

import pytest
import torch
from pydantic import ValidationError
from transformers import RepetitionPenaltyLogitsProcessor

from landmark.core.limits import COLDEST
from landmark.decoding.speaker import Hypothesis
from landmark.decoding.stepwise import (
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    penalize_repetition,
    restrict,
    sampler,
)


def decode(speaker, limits: list[int], *choose) -> list[Hypothesis]:
    state = speaker.start(len(limits))
    return decode_stepwise(speaker, state, limits, speaker.begin, speaker.end, *choose)


def greedy_by_hand(speaker, sentence: int, limit: int) -> tuple[tuple[int, ...], float, bool]:
    said, total = [speaker.begin], 0.0
    while len(said) <= limit:
        scores = speaker.table(sentence, tuple(said)).tolist()
        token = max(range(speaker.vocabulary), key=scores.__getitem__)
        total += scores[token]
        if token == speaker.end:
            return tuple(said[1:]), total, True
        said.append(token)
    return tuple(said[1:]), total, False


def test_greedy_choice_equals_a_loop_over_each_sentence_alone(speaker) -> None:
    limits = [4, 3, 1, 9, 5, 7, 1, 7]
    hypotheses = decode(speaker, limits)
    expected = [greedy_by_hand(speaker, sentence, limit) for sentence, limit in enumerate(limits)]
    assert {ended for _, _, ended in expected} == {True, False}
    for hypothesis, (words, total, ended) in zip(hypotheses, expected, strict=True):
        assert (hypothesis.tokens, hypothesis.ended) == (words, ended)
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
        assert hypothesis.score == hypothesis.log_probability


def test_finished_sentences_leave_the_batch(speaker) -> None:
    limits = [4, 3, 1, 9, 5, 7, 1, 7]
    decode(speaker, limits)
    steps = []  # how often each sentence must have been asked about
    for sentence, limit in enumerate(limits):
        words, *_ = greedy_by_hand(speaker, sentence, limit)
        steps.append(min(limit, len(words) + 1))
    expected = [sum(step > time for step in steps) for time in range(max(steps))]
    assert speaker.batch_sizes == expected


def test_no_sentences_give_no_hypotheses(speaker) -> None:
    assert decode(speaker, []) == []


def restricted_by_hand(
    probabilities: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> list[float]:
    """Sort, keep, renormalise: one token at a time."""
    powered = [p ** (1 / temperature) for p in probabilities]
    kept = {token: p / sum(powered) for token, p in enumerate(powered)}
    ranked = sorted(kept, key=lambda token: -kept[token])
    if top_k is not None:
        ranked = ranked[:top_k]
        share = sum(kept[token] for token in ranked)
        kept = {token: kept[token] / share for token in ranked}
    if top_p is not None:
        nucleus, mass = [], 0.0
        for token in ranked:  # the smallest set that has the mass
            if mass >= top_p:
                break
            nucleus.append(token)
            mass += kept[token]
        kept = {token: kept[token] / mass for token in nucleus}
    return [kept.get(token, 0.0) for token in range(len(probabilities))]


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("top_k", [None, 1, 3, 6, 50])
@pytest.mark.parametrize("top_p", [None, 0.01, 0.5, 0.9, 1.0])
def test_restriction_equals_a_loop_over_sorted_tokens(
    temperature: float, top_k: int | None, top_p: float | None
) -> None:
    generator = torch.Generator().manual_seed(9)
    log_probabilities = (2 * torch.randn(4, 9, generator=generator)).double().log_softmax(-1)
    config = SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)
    result = restrict(log_probabilities, config)
    for row, its in zip(log_probabilities.exp().tolist(), result.tolist(), strict=True):
        assert its == pytest.approx(restricted_by_hand(row, temperature, top_k, top_p), abs=1e-9)


def test_a_nucleus_that_has_exactly_the_mass_takes_no_more() -> None:
    uniform = torch.zeros(1, 4).log_softmax(-1)
    assert restrict(uniform, SamplingConfig(top_p=0.5)).sort().values.tolist() == [[0, 0, 0.5, 0.5]]


def test_however_cold_it_is_the_likeliest_token_is_left() -> None:
    given = torch.tensor([[0.2, 0.5, 0.3]]).log()
    coldest = SamplingConfig(temperature=COLDEST)
    assert restrict(given, coldest)[0].tolist() == pytest.approx([0, 1, 0], abs=1e-20)
    with pytest.raises(ValidationError):  # float32 could not divide by it
        SamplingConfig(temperature=1e-300)


def test_draws_come_as_often_as_the_restricted_distribution_says() -> None:
    log_probabilities = torch.tensor([0.4, 0.3, 0.2, 0.1]).log().expand(20_000, 4)
    generator = torch.Generator().manual_seed(0)
    choose = sampler(SamplingConfig(top_k=3), torch.rand(20_000, 1, generator=generator))
    draws = choose(log_probabilities, torch.arange(20_000), 1)
    shares = torch.bincount(draws, minlength=4) / 20_000
    for share, expected in zip(shares.tolist(), [4 / 9, 3 / 9, 2 / 9, 0], strict=True):
        assert abs(share - expected) <= 5 * math.sqrt(expected * (1 - expected) / 20_000)


def uniform(seed: int) -> torch.Tensor:
    return torch.rand(6, 8, generator=torch.Generator().manual_seed(seed))


def test_a_seed_reproduces_the_draws_and_another_does_not(speaker) -> None:
    def speak(seed: int) -> list[tuple[int, ...]]:
        choose = sampler(SamplingConfig(), uniform(seed))
        return [h.tokens for h in decode(speaker, [8] * 6, choose)]

    assert speak(1) == speak(1)
    assert speak(1) != speak(2)


def test_top_one_sampling_is_greedy(speaker) -> None:
    def speak(choose) -> list[tuple[int, ...]]:
        return [h.tokens for h in decode(speaker, [8] * 6, choose)]

    assert speak(sampler(SamplingConfig(top_k=1), uniform(0))) == speak(choose_greedily)


def test_the_log_probability_of_a_sample_is_the_models_not_the_restricted_one(speaker) -> None:
    choose = sampler(SamplingConfig(temperature=0.3, top_k=2), uniform(5))
    hypotheses = decode(speaker, [4] * 5, choose)
    for sentence, hypothesis in enumerate(hypotheses):
        ended = () if len(hypothesis.tokens) == 4 else (speaker.end,)
        total = speaker.total(sentence, (*hypothesis.tokens, *ended))
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.3, 5.0])
def test_repetition_is_penalized_as_transformers_does(penalty: float) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = 3 * torch.randn(4, 9, generator=generator)
    logits[0, 0] = 0.0
    said = torch.tensor([[0, 0, 3], [1, 2, 3], [8, 8, 8], [7, 0, 7]])
    is_said = torch.zeros(4, 9, dtype=torch.bool).scatter(1, said, value=True)
    expected = RepetitionPenaltyLogitsProcessor(penalty)(said, logits.clone())
    assert torch.equal(penalize_repetition(logits, is_said, penalty), expected)
    assert (expected != logits).any() == (penalty != 1)
