import math
import random

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from landmark.core.errors import UserError
from landmark.metrics.translation import (
    affordable,
    compare_translations,
    length_bins,
    score_by_length,
    score_translations,
)

HYPOTHESES = ["Der Hund sieht den Mann.", "Die Frau liest.", "Ein Vogel singt im Garten."]
REFERENCES = ["Der Hund sieht den Mann.", "Die Frau liest ein Buch.", "Vögel singen im Garten."]


def test_scores_are_sacrebleus_with_its_signatures():
    bleu, chrf, ter, exact = score_translations(HYPOTHESES, REFERENCES)
    for score, metric in ((bleu, BLEU()), (chrf, CHRF()), (ter, TER())):
        assert score.value == metric.corpus_score(HYPOTHESES, [REFERENCES]).score
        assert score.signature == str(metric.get_signature())
        assert score.interval is None
    assert [s.name for s in (bleu, chrf, ter, exact)] == ["BLEU", "chrF2", "TER", "exact match"]
    assert 20 < bleu.value < 80
    assert "tok:13a" in bleu.signature
    assert "version:" in chrf.signature


def test_bleu_comes_with_its_parts():
    parts = score_translations(HYPOTHESES, REFERENCES)[0].parts
    # 6 + 4 + 6 tokens of 6 + 6 + 5; of the unigrams all 6, 4, and "im Garten ." are right.
    assert (parts.hypothesis_length, parts.reference_length) == (16, 17)
    assert parts.precisions[0] == pytest.approx(100 * 13 / 16)
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 17 / 16))


def test_tokenised_text_is_taken_as_it_is():
    said, references = ["ein hund ( braun ) ."], ["ein hund ( braun ) !"]
    bleu = score_translations(said, references, tokenized=True)[0]
    assert "tok:none" in bleu.signature
    assert bleu.parts.hypothesis_length == 6
    joined = score_translations(["a.b"], ["a.b"], tokenized=True)[0]
    assert joined.parts.hypothesis_length == 1


def test_intervals_are_those_of_sacrebleus_bootstrap():
    scores = score_translations(HYPOTHESES * 5, REFERENCES * 5, bootstrap=200)
    for score, metric in zip(scores, (BLEU(), CHRF(), TER()), strict=False):
        expected = metric.corpus_score(HYPOTHESES * 5, [REFERENCES * 5], n_bootstrap=200)
        shown = expected.format(score_only=True)
        assert shown == f"{score.value:.2f} (μ = {score.mean:.2f} ± {score.interval:.2f})"
        assert "bs:200|seed:12345" in score.signature
    exact = scores[-1]
    # Normal approximation of the share of 5 in 15.
    assert exact.interval == pytest.approx(196 * math.sqrt(1 / 3 * 2 / 3 / 15), abs=4)
    assert scores == score_translations(HYPOTHESES * 5, REFERENCES * 5, bootstrap=200)


def test_a_large_set_is_resampled_less_often_lest_memory_fill():
    assert affordable("bootstrap", 1000, 1000) == 1000
    assert affordable("bootstrap", 1000, 50_000) == 200
    assert affordable("bootstrap", 0, 50_000) == 0
    assert affordable("randomization", 10_000, 1000) == 10_000


def test_exact_match_is_the_share_of_equal_lines_in_percent():
    *_, exact = score_translations(HYPOTHESES, REFERENCES)
    assert exact.value == pytest.approx(100 / 3)
    assert exact.signature == "n:3"


def test_a_perfect_translation_scores_a_hundred():
    values = [score.value for score in score_translations(REFERENCES, REFERENCES)]
    assert values == pytest.approx([100, 100, 0, 100])  # TER counts faults


def test_references_are_taken_line_by_line():
    shuffled = REFERENCES[1:] + REFERENCES[:1]
    assert score_translations(REFERENCES, shuffled)[-1].value == 0


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        score_translations(HYPOTHESES, REFERENCES[:2])


def test_nothing_cannot_be_scored():
    with pytest.raises(UserError, match="no sentences to score"):
        score_translations([], [])


# Comparisons


def spoilt(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with a share of their words lost."""
    rng = random.Random(seed)
    return [" ".join(w for w in line.split() if rng.random() > share) for line in lines]


def test_a_system_that_is_clearly_worse_differs_significantly():
    lines = [f"der hund {number} sieht den mann im garten nicht" for number in range(60)]
    good, bad = spoilt(lines, 0.05, 1), spoilt(lines, 0.4, 2)
    for test in ("bootstrap", "randomization"):
        found = compare_translations([("a", good), ("b", bad)], lines, test=test, samples=200)
        assert [entry.metric for entry in found] == ["BLEU", "chrF2", "TER"]
        for entry in found:
            assert entry.p_values[0] is None
            assert entry.p_values[1] == pytest.approx(1 / 201)
        assert found[0].values[0] == BLEU().corpus_score(good, [lines]).score
        assert ("bs:200" if test == "bootstrap" else "ar:200") in found[0].signature


def test_two_systems_alike_do_not_differ_significantly():
    lines = [f"der hund {number} sieht den mann im garten nicht" for number in range(60)]
    one, other = spoilt(lines, 0.2, 1), spoilt(lines, 0.2, 2)
    found = compare_translations([("a", one), ("b", other), ("a again", one)], lines, samples=200)
    for entry in found:
        assert entry.p_values[1] > 0.05
        assert entry.p_values[2] == 1
    again = compare_translations([("a", one), ("b", other), ("a again", one)], lines, samples=200)
    assert again == found


# By length


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([3] * 30 + [9] * 30, [(1, 5), (6, 10)]),
        ([3] * 30 + [9] * 29, [(1, 10)]),
        ([3] * 29 + [9] * 30, [(1, 10)]),
        ([3] * 30 + [9] * 10 + [12] * 20 + [30], [(1, 5), (6, 30)]),
        ([0, 2], [(0, 5)]),
        ([30] * 40, [(1, 30)]),
    ],
)
def test_bins_have_enough_members_and_cover_all(lengths, expected):
    assert length_bins(lengths, 5, 30) == expected


def test_each_bin_is_scored_apart():
    short, long = ["a b c d"] * 3, ["a b c d e f g"] * 3
    bins = score_by_length(short + long, short + ["x"] * 3, short + long, width=5, fewest=3)
    assert [(b.first, b.last, b.sentences, b.mean_words) for b in bins] == [
        (1, 5, 3, 4.0),
        (6, 10, 3, 7.0),
    ]
    assert bins[0].bleu.value == pytest.approx(100)
    assert bins[1].bleu.value == 0
