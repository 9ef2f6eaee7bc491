import itertools
import math

import pytest
import torch

from landmark.decoding.beam_search import SearchConfig, beam_search
from landmark.decoding.speaker import penalize
from landmark.decoding.stepwise import decode_stepwise
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import TransformerConfig, Translator


def search(speaker, limits: list[int], beam: int, alpha: float):
    state = speaker.start(len(limits), beam)
    return beam_search(speaker, state, limits, speaker.begin, speaker.end, beam, alpha)


def exhaustive(
    speaker, sentence: int, limit: int, alpha: float
) -> list[tuple[tuple[int, ...], float]]:
    """Everything that can be said within the limit, with its penalised score, best first."""
    words = [token for token in range(speaker.vocabulary) if token != speaker.end]
    found = []
    for length in range(limit + 1):
        for said in itertools.product(words, repeat=length):
            spoken = (*said, speaker.end) if length < limit else said
            total = speaker.total(sentence, spoken)
            found.append((said, total / ((5 + len(spoken)) / 6) ** alpha))
    return sorted(found, key=lambda pair: -pair[1])


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_a_beam_as_wide_as_the_tree_equals_exhaustive_search(speaker, alpha: float) -> None:
    limits = [3, 1, 2, 3]
    beam = 1 + 4 + 16 + 64  # ended after 0, 1, 2 words, or cut at the limit of 3
    for sentence, hypotheses in enumerate(search(speaker, limits, beam, alpha)):
        expected = exhaustive(speaker, sentence, limits[sentence], alpha)
        assert [h.tokens for h in hypotheses] == [words for words, _ in expected]
        assert [h.score for h in hypotheses] == pytest.approx(
            [score for _, score in expected], abs=1e-5
        )


def test_the_length_penalty_can_change_which_is_best(speaker) -> None:
    best = {
        alpha: [hypotheses[0].tokens for hypotheses in search(speaker, [3] * 12, 85, alpha)]
        for alpha in (0.0, 1.5)
    }
    assert best[0.0] != best[1.5]
    longer = [len(b) - len(a) for a, b in zip(best[0.0], best[1.5], strict=True)]
    assert min(longer) >= 0


def beam_by_hand(speaker, sentence: int, limit: int, beam: int, alpha: float):
    """The same search with lists, for one sentence."""
    going, finished = [((), 0.0)], []
    for length in range(1, limit + 1):
        candidates = [
            ((*said, token), total + gain)
            for said, total in going
            for token, gain in enumerate(speaker.table(sentence, (speaker.begin, *said)).tolist())
        ]
        candidates.sort(key=lambda pair: -pair[1])
        penalty = ((5 + length) / 6) ** alpha
        finished += [
            (said[:-1], total / penalty)
            for said, total in candidates[:beam]
            if said[-1] == speaker.end
        ]
        going = [pair for pair in candidates if pair[0][-1] != speaker.end][:beam]
        if len(finished) >= beam:
            break
        if length == limit:
            finished += [(said, total / penalty) for said, total in going]
    return sorted(finished, key=lambda pair: -pair[1])[:beam]


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_narrow_beams_equal_a_search_with_lists(speaker, beam: int, alpha: float) -> None:
    limits = [6, 2, 8, 1, 6, 6, 8, 8]
    for sentence, hypotheses in enumerate(search(speaker, limits, beam, alpha)):
        expected = beam_by_hand(speaker, sentence, limits[sentence], beam, alpha)
        assert [h.tokens for h in hypotheses] == [words for words, _ in expected]
        assert [h.score for h in hypotheses] == pytest.approx(
            [score for _, score in expected], abs=1e-5
        )


def test_hypotheses_are_sorted_distinct_and_scored_by_the_penalty(speaker) -> None:
    for sentence, hypotheses in enumerate(search(speaker, [6] * 8, 4, 0.6)):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert len(hypotheses) == 4
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == 4
        for hypothesis in hypotheses:
            ended = (speaker.end,) if len(hypothesis.tokens) < 6 else ()
            assert hypothesis.ended == bool(ended)
            spoken = (*hypothesis.tokens, *ended)
            total = speaker.total(sentence, spoken)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
            assert hypothesis.score == pytest.approx(
                total / ((5 + len(spoken)) / 6) ** 0.6, abs=1e-5
            )


def test_finished_sentences_leave_the_batch(speaker) -> None:
    beam, limits = 2, [9, 1, 3, 9, 9, 5, 9, 9]
    search(speaker, limits, beam, 0.0)
    sizes = speaker.batch_sizes
    assert sizes[0] == len(limits) * beam
    assert sizes == sorted(sizes, reverse=True)
    # Each sentence alone takes as many steps as it takes in company.
    alone = []
    for sentence in range(len(limits)):
        steps = 0
        for steps in range(1, limits[sentence] + 1):  # the first limit at which nothing changes
            at_most = beam_by_hand(speaker, sentence, steps, beam, 0.0)
            if all(len(words) < steps for words, _ in at_most):
                break
        alone.append(steps)
    expected = [beam * sum(steps > time for steps in alone) for time in range(max(alone))]
    assert sizes == expected


def test_beam_one_is_greedy(speaker) -> None:
    limits = [6, 2, 8, 1, 6, 6, 8, 8]
    greedy = decode_stepwise(speaker, speaker.start(8), limits, speaker.begin, speaker.end)
    for alone, beamed in zip(greedy, search(speaker, limits, 1, 0.6), strict=True):
        assert [alone.tokens] == [hypothesis.tokens for hypothesis in beamed]
        assert beamed[0].log_probability == pytest.approx(alone.log_probability, abs=1e-5)


def test_no_sentences_give_no_hypotheses(speaker) -> None:
    assert search(speaker, [], 3, 0.6) == []


def test_the_length_penalty_is_wus_equation_14() -> None:
    assert penalize(1, 0.6) == pytest.approx(1.0)
    assert penalize(7, 1.0) == pytest.approx(2.0)
    assert penalize(25, 0.6) == pytest.approx(5**0.6)
    assert penalize(25, 0.0) == 1.0


def test_the_longest_translation_grows_with_the_source() -> None:
    config = SearchConfig(max_ratio=1.5, max_extra=10)
    assert config.max_length(1) == 11
    assert config.max_length(20) == 40


# With a real model

BEGIN, END = 1, 2


class Uncached:
    """The same model, computing every prefix from nothing at every step."""

    def __init__(self, model: Translator, sources: list[list[int]]) -> None:
        self.model, self.sources = model, sources

    def step(self, tokens: torch.Tensor, state) -> torch.Tensor:
        state.say(tokens)
        sources = [self.sources[sentence] for sentence, _ in state.rows]
        said = [list(words) for _, words in state.rows]
        hidden = self.model(*packed(sources), *packed(said))
        ends = torch.tensor([len(row) for row in said]).cumsum(0) - 1
        return self.model.logits(hidden[ends])


def packed(sentences: list[list[int]]) -> tuple[torch.Tensor, Packing]:
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return torch.tensor([token for sentence in sentences for token in sentence]), Packing(lengths)


def small_model(norm: str) -> Translator:
    torch.manual_seed(2)
    model = Translator(
        TransformerConfig(
            vocab_size=20, hidden_size=16, inner_size=32, num_heads=2,
            encoder_layers=2, decoder_layers=2, norm=norm, max_length=40,
        )
    ).eval()  # fmt: skip
    with torch.no_grad():  # make </s> likely enough that some hypotheses end
        model.output.weight = torch.nn.Parameter(1.5 * model.output.weight)
        model.output.weight[END] += 0.2
    return model


SOURCES = [[5, 6, 7, 8, 2], [9, 2], [4, 10, 11, 2], [12, 2], [13, 14, 15, 16, 17, 18, 2]]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("beam", [1, 3])
def test_search_with_caches_equals_search_without(speaker, norm: str, beam: int) -> None:
    model = small_model(norm)
    limits = [9, 5, 12, 12, 12]
    with torch.inference_mode():
        state = model.start(*packed(SOURCES), beam, max(limits))
    cached = beam_search(model, state, limits, BEGIN, END, beam, 0.6)
    said = speaker.start(len(SOURCES), beam)
    uncached = beam_search(Uncached(model, SOURCES), said, limits, BEGIN, END, beam, 0.6)
    lengths = [len(h.tokens) for hypotheses in cached for h in hypotheses]
    assert len(set(lengths)) > 1
    for quick, slow in zip(cached, uncached, strict=True):
        assert [h.tokens for h in quick] == [h.tokens for h in slow]
        assert [h.score for h in quick] == pytest.approx([h.score for h in slow], abs=1e-4)


def test_beam_one_is_greedy_with_a_real_model() -> None:
    model = small_model("post")
    limits = [9, 5, 12, 12, 12]
    with torch.inference_mode():
        states = [model.start(*packed(SOURCES), 1, 12) for _ in range(2)]
    greedy = decode_stepwise(model, states[0], limits, BEGIN, END)
    beamed = beam_search(model, states[1], limits, BEGIN, END, 1, 0.0)
    assert [h.tokens for h in greedy] == [h[0].tokens for h in beamed]
    assert all(math.isfinite(h.score) for h in greedy)
