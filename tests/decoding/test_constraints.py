import itertools
import random

import pytest

from landmark.decoding.beam_search import beam_search
from landmark.decoding.constraints import PhraseGuide, beam_width, essential, tokens_needed
from landmark.decoding.prefix import Prefixes


def holds(said, phrases):
    return all(
        any(said[start : start + len(phrase)] == phrase for start in range(len(said)))
        for phrase in phrases
    )


def search(speaker, phrases, limits, beam, alpha=0.6, prefixes=None):
    prefixes = prefixes or [()] * len(limits)
    guide = PhraseGuide(phrases, limits, speaker.end, beam, prefixes)
    forced = Prefixes(prefixes, limits, speaker.end)
    return beam_search(
        speaker, speaker.start(len(limits), beam), limits, speaker.begin, speaker.end, beam, alpha,
        prefixes=forced, guide=guide,
    )  # fmt: skip


def exhaustive(speaker, sentence, phrases, limit, alpha=0.6, prefix=()):
    """Everything with the prefix and the phrases that can be said within the limit, best first."""
    words = [token for token in range(speaker.vocabulary) if token != speaker.end]
    found = []
    for length in range(limit + 1):
        for said in itertools.product(words, repeat=length):
            if said[: len(prefix)] == prefix and holds(said, phrases):
                spoken = (*said, speaker.end) if length < limit else said
                penalty = ((5 + len(spoken)) / 6) ** alpha
                found.append((said, speaker.total(sentence, spoken) / penalty))
    return sorted(found, key=lambda pair: -pair[1])


PHRASES = [[(3,)], [(0, 4)], [(3,), (0, 3)], [(4, 4, 0)], [(1,), (3, 0)]]


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_beam_as_wide_as_the_tree_finds_all_that_holds_the_phrases(speaker, alpha):
    limits = [3, 4, 4, 4, 4]
    for sentence, hypotheses in enumerate(search(speaker, PHRASES, limits, 400, alpha)):
        expected = exhaustive(speaker, sentence, PHRASES[sentence], limits[sentence], alpha)
        assert [h.tokens for h in hypotheses] == [said for said, _ in expected]
        assert [h.score for h in hypotheses] == pytest.approx(
            [score for _, score in expected], abs=1e-5
        )


def test_prefix_and_phrases_together_equal_enumeration(speaker):
    prefixes, limits = [(3,), (0,), (1, 0), (4, 4), (1,)], [4, 4, 5, 5, 5]
    found = search(speaker, PHRASES, limits, 400, prefixes=prefixes)
    for sentence, hypotheses in enumerate(found):
        expected = exhaustive(
            speaker, sentence, PHRASES[sentence], limits[sentence], prefix=prefixes[sentence]
        )
        assert [h.tokens for h in hypotheses] == [said for said, _ in expected]


@pytest.mark.parametrize("beam", [2, 4, 8])
def test_every_hypothesis_of_a_narrow_beam_holds_its_phrases_and_scores_right(speaker, beam):
    draw = random.Random(beam)
    words = [0, 1, 3, 4]
    phrases = [
        [tuple(draw.choices(words, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 3))]
        for _ in range(30)
    ]
    # Half of the limits are as tight as can be.
    limits = [tokens_needed((), its) + 1 + 5 * (n % 2) for n, its in enumerate(phrases)]
    for sentence, hypotheses in enumerate(search(speaker, phrases, limits, beam)):
        assert hypotheses
        assert len({h.tokens for h in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            assert holds(hypothesis.tokens, phrases[sentence])
            ended = (speaker.end,) if len(hypothesis.tokens) < limits[sentence] else ()
            total = speaker.total(sentence, (*hypothesis.tokens, *ended))
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)


def test_a_moderate_beam_finds_nearly_the_best(speaker):
    phrases = [[(3, 0)], [(4,), (0,)]] * 5
    found = search(speaker, phrases, [5] * 10, 8)
    best = [exhaustive(speaker, n, phrases[n], 5)[0] for n in range(10)]
    same = sum(h[0].tokens == said for h, (said, _) in zip(found, best, strict=True))
    assert same >= 7


def test_a_half_begun_phrase_is_abandoned_and_begun_anew(speaker):
    # 0 0 4: after 0 0 0 the last two tokens still count.
    hypotheses = search(speaker, [[(0, 0, 4)]], [5], 400)[0]
    assert (0, 0, 0, 4) in [h.tokens for h in hypotheses]
    hypotheses = search(speaker, [[(0, 4, 0, 3)]], [7], 3000)[0]
    assert (0, 4, 0, 4, 0, 3) in [h.tokens for h in hypotheses]


def test_company_changes_nothing(speaker):
    limits = [6, 7, 8, 7, 9]
    together = search(speaker, PHRASES, limits, 4)

    class Shifted(type(speaker)):
        def table(self, sentence, said):
            return speaker.table(self.number, said)

    for number, expected in enumerate(together):
        alone = Shifted()
        alone.number = number
        (found,) = search(alone, [PHRASES[number]], [limits[number]], 4)
        assert [h.tokens for h in found] == [h.tokens for h in expected]


def test_phrases_that_cannot_fit_are_refused(speaker):
    with pytest.raises(ValueError, match="sentence 1: its phrases need 4 tokens, its limit is 3"):
        search(speaker, [[(3,)], [(3, 4), (0,)]], [3, 3], 4)
    with pytest.raises(ValueError, match="sentence 0: its phrases need 5 tokens"):
        search(speaker, [[(3, 4), (0,)]], [4], 4, prefixes=[(1,)])


@pytest.mark.parametrize("phrases", [[], [()], [(3, 2)]])
def test_empty_phrases_and_the_end_token_are_refused(speaker, phrases):
    with pytest.raises(ValueError, match="no phrase, an empty one or one with the end token"):
        search(speaker, [phrases], [9], 4)


def test_a_phrase_within_another_is_met_with_it():
    assert essential([(3,), (4, 3, 0), (4, 3, 0), (3, 0)]) == [(4, 3, 0)]
    assert tokens_needed((), [(3,), (4, 3, 0)]) == 3


def test_what_the_prefix_holds_or_begins_need_not_be_said_again():
    phrases = [(3, 4), (0, 1, 0)]
    assert tokens_needed((), phrases) == 5
    assert tokens_needed((3, 4), phrases) == 2 + 3
    assert tokens_needed((4, 0, 1), phrases) == 3 + 1 + 2
    assert tokens_needed((0, 1, 3), phrases) == 3 + 1 + 3


def test_the_beam_has_room_for_each_bank_within_reason():
    assert beam_width([(3,)], 1) == 4
    assert beam_width([(3,)], 5) == 5
    assert beam_width([(3, 4, 0), (1,)], 5) == 8
    assert beam_width([(n,) for n in range(100)], 5) == 32
