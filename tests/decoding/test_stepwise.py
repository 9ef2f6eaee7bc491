import math

import pytest
import torch

from landmark.decoding.stepwise import (
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    restrict,
    sampler,
)

VOCABULARY, BEGIN, END = 6, 1, 2


def table(sentence: int, prefix: tuple[int, ...]) -> torch.Tensor:
    """Logits that depend on the sentence and on everything said so far."""
    seed = sum((place + 1) * 31 * (token + 7) ** 3 for place, token in enumerate(prefix))
    return torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed + 101 * sentence))


class PrefixState:
    """Remembers, for each row, its sentence and what it said."""

    def __init__(self, sentences: int) -> None:
        self.rows: list[tuple[int, tuple[int, ...]]] = [(n, ()) for n in range(sentences)]
        self.sentences = list(range(sentences))

    def select_rows(self, rows: torch.Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def select_sentences(self, sentences: torch.Tensor) -> None:
        self.sentences = [self.sentences[place] for place in sentences.tolist()]


class TableSpeaker:
    """Speaks from the table, and notes how many rows it was asked about."""

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []

    def step(self, tokens: torch.Tensor, state: PrefixState) -> torch.Tensor:
        assert [sentence for sentence, _ in state.rows] == state.sentences
        self.batch_sizes.append(len(tokens))
        state.rows = [
            (sentence, (*said, token))
            for (sentence, said), token in zip(state.rows, tokens.tolist(), strict=True)
        ]
        return torch.stack([table(sentence, said) for sentence, said in state.rows])


def greedy_by_hand(sentence: int, limit: int) -> tuple[tuple[int, ...], float]:
    said, total = [BEGIN], 0.0
    while len(said) <= limit:
        scores = table(sentence, tuple(said)).log_softmax(0).tolist()
        token = max(range(VOCABULARY), key=scores.__getitem__)
        total += scores[token]
        if token == END:
            break
        said.append(token)
    return tuple(said[1:]), total


def test_greedy_choice_equals_a_loop_over_each_sentence_alone() -> None:
    limits = [4, 3, 1, 9, 5, 7, 1, 7]
    hypotheses = decode_stepwise(TableSpeaker(), PrefixState(8), limits, BEGIN, END)
    expected = [greedy_by_hand(sentence, limit) for sentence, limit in enumerate(limits)]
    lengths = [len(words) for words, _ in expected]
    assert any(length < limit for length, limit in zip(lengths, limits, strict=True))
    assert any(length == limit for length, limit in zip(lengths, limits, strict=True))
    for hypothesis, (words, total) in zip(hypotheses, expected, strict=True):
        assert hypothesis.tokens == words
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
        assert hypothesis.score == hypothesis.log_probability


def test_finished_sentences_leave_the_batch() -> None:
    limits = [4, 3, 1, 9, 5, 7, 1, 7]
    speaker = TableSpeaker()
    decode_stepwise(speaker, PrefixState(8), limits, BEGIN, END)
    steps = []  # how often each sentence must have been asked about
    for sentence, limit in enumerate(limits):
        words, _ = greedy_by_hand(sentence, limit)
        steps.append(min(limit, len(words) + 1))
    expected = [sum(step > time for step in steps) for time in range(max(steps))]
    assert speaker.batch_sizes == expected


def test_no_sentences_give_no_hypotheses() -> None:
    assert decode_stepwise(TableSpeaker(), PrefixState(0), [], BEGIN, END) == []


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


def test_a_seed_reproduces_the_draws_and_another_does_not() -> None:
    def speak(seed: int) -> list[tuple[int, ...]]:
        choose = sampler(SamplingConfig(), uniform(seed))
        speaker, state = TableSpeaker(), PrefixState(6)
        return [h.tokens for h in decode_stepwise(speaker, state, [8] * 6, BEGIN, END, choose)]

    assert speak(1) == speak(1)
    assert speak(1) != speak(2)


def test_top_one_sampling_is_greedy() -> None:
    def speak(choose) -> list[tuple[int, ...]]:
        state = PrefixState(6)
        return [
            h.tokens for h in decode_stepwise(TableSpeaker(), state, [8] * 6, BEGIN, END, choose)
        ]

    assert speak(sampler(SamplingConfig(top_k=1), uniform(0))) == speak(choose_greedily)


def test_the_log_probability_of_a_sample_is_the_models_not_the_restricted_one() -> None:
    choose = sampler(SamplingConfig(temperature=0.3, top_k=2), uniform(5))
    hypotheses = decode_stepwise(TableSpeaker(), PrefixState(5), [4] * 5, BEGIN, END, choose)
    for sentence, hypothesis in enumerate(hypotheses):
        said, total = (BEGIN,), 0.0
        ended = () if len(hypothesis.tokens) == 4 else (END,)
        for token in (*hypothesis.tokens, *ended):
            total += table(sentence, said).log_softmax(0)[token].item()
            said = (*said, token)
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
