import math

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from landmark.core.errors import UserError
from landmark.metrics.captions import (
    CIDER,
    CiderD,
    bleu_counts,
    compare_captions,
    mean_cider,
    score_captions,
)
from landmark.metrics.translation import bleu

WORDS = "a the dog cat man red ball runs jumps sits on in over grass snow with two"


def sentences(random, count):
    lengths = random.integers(1, 12, count)
    return [" ".join(random.choice(WORDS.split(), length)) for length in lengths]


@pytest.fixture
def made():
    """Captions, and one to five references of each, drawn at random."""
    random = np.random.default_rng(3)
    captions = sentences(random, 60)
    references = [sentences(random, random.integers(1, 6)) for _ in captions]
    references[0] = [captions[0], captions[0]]
    return captions, references


def test_bleu_1_is_that_of_a_hand_count():
    """the x 7 (Papineni et al. 2002): at most two of them are in one reference."""
    captions = ["the the the the the the the", "a dog runs"]
    references = [
        ["the cat is on the mat", "there is a cat on the mat"],
        ["a dog runs fast", "the dog is running", "a dog"],
    ]
    # Found: 2 of 7, then 3 of 3. Nearest lengths: 7 (of 6 and 7), and 2 of the two that are 1 off.
    scores = score_captions(captions, references, resamples=0)
    assert scores.value("BLEU-1") == pytest.approx(100 * 5 / 10)
    assert (scores.mean_words, scores.reference_words) == (5, 4.5)
    assert scores.brevity_penalty == 1


def test_short_captions_are_penalised_by_e_to_the_1_minus_r_over_c():
    scores = score_captions(["a dog"], [["a dog runs on grass"]], resamples=0)
    assert scores.brevity_penalty == pytest.approx(math.exp(1 - 5 / 2))
    assert scores.value("BLEU-2 without penalty") == pytest.approx(100)
    assert scores.value("BLEU-2") == pytest.approx(100 * math.exp(1 - 5 / 2))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("chosen", [slice(None), slice(3, 6)], ids=["many", "few"])
def test_bleu_is_sacrebleus_of_any_number_of_references(made, order, chosen):
    captions, references = (given[chosen] for given in made)
    width = max(map(len, references))
    streams = [[g[n] if n < len(g) else None for g in references] for n in range(width)]
    metric = BLEU(tokenize="none", force=True, max_ngram_order=order)
    theirs = metric.corpus_score(captions, streams)
    ours = score_captions(captions, references, resamples=0)
    assert ours.value(f"BLEU-{order}") == pytest.approx(theirs.score, rel=1e-9)
    assert ours.brevity_penalty == pytest.approx(theirs.bp)
    without = ours.value(f"BLEU-{order} without penalty")
    assert without == pytest.approx(theirs.score / theirs.bp)


def test_bleu_4_of_one_reference_is_that_of_translations(made):
    captions, references = made
    first = [given[0] for given in references]
    ours = score_captions(captions, [[text] for text in first], resamples=0)
    assert ours.value("BLEU-4") == pytest.approx(bleu(captions, first, tokenized=True))
    assert "tok:none" in ours.signature


def test_an_empty_caption_has_no_ngram():
    counts = bleu_counts([""], [["a dog"]])
    assert not counts[0, [0, *range(2, 10)]].any()
    scores = score_captions([""], [["a dog"]], resamples=0)
    assert {score.value for score in scores.scores} == {0}


def test_cider_d_of_a_case_by_hand():
    """Two images; "a" is in both, so its idf is log(2 / 2) = 0, all else has log(2 / 1).

    Caption "a dog dog" against "a dog": unigram weights 0 and 2 L against 0 and L, clipped to L:
    L * L / (2 L * L) = 1/2. Bigrams "a dog", "dog dog" against "a dog": L * L / (sqrt(2) L * L).
    Longer ones: none. Lengths differ by 1: exp(-1 / 72).
    """
    scores = CiderD([["a dog"], ["a cat"]]).score(["a dog dog", "a dog"])
    by_hand = 10 * (1 / 2 + 1 / math.sqrt(2)) / 4 * math.exp(-1 / 72)
    np.testing.assert_allclose(scores, [by_hand, 0])


def test_cider_d_is_pycocoevalcaps(made):
    from tests.pycocoevalcap_beside import Cider

    captions, references = made
    captions = [*captions, "", "a", "zebra zebra"]
    references = [*references, ["a dog"], ["a", "the dog"], ["a zebra runs", "zebra"]]
    given = {number: list(texts) for number, texts in enumerate(references)}
    said = {number: [text] for number, text in enumerate(captions)}
    mean, each = Cider().compute_score(given, said)
    np.testing.assert_allclose(CiderD(references).score(captions), each, atol=1e-12)
    assert mean_cider(captions, references) == pytest.approx(mean)
    assert score_captions(captions, references, resamples=0).value(CIDER) == pytest.approx(mean)
    assert mean > 0.1


def test_captions_that_are_repeated_or_copied_are_counted():
    captions = ["a dog", "a dog", "a cat", "two men"]
    scores = score_captions(captions, [["a dog"]] * 4, training=["a dog", "a bird"], resamples=0)
    assert scores.distinct == 3
    assert scores.copied == 0.5
    assert score_captions(captions, [["a dog"]] * 4, resamples=0).copied is None


def test_intervals_hold_the_score_and_shrink_with_more_images(made):
    captions, references = made
    few = score_captions(captions, references)
    many = score_captions(captions * 9, references * 9)
    for narrow, wide in zip(many.scores, few.scores, strict=True):
        assert wide.low <= wide.value <= wide.high
        if narrow.name in ("BLEU-1", "BLEU-2"):
            # nine times the images: a third of the width
            assert (narrow.high - narrow.low) / (wide.high - wide.low) == pytest.approx(1 / 3, 0.2)


def test_the_interval_of_bleu_1_is_near_that_of_sacrebleu(made):
    captions, references = made
    first = [given[0] for given in references]
    metric = BLEU(tokenize="none", force=True, max_ngram_order=1)
    theirs = metric.corpus_score(captions, [first], n_bootstrap=1000)
    ours = score_captions(captions, [[text] for text in first]).scores[0]
    assert (ours.high - ours.low) / 2 == pytest.approx(theirs._ci, rel=0.1)


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_a_better_system_is_told_from_one_that_is_as_good(made, test):
    captions, references = made
    random = np.random.default_rng(5)
    better = [given[0] for given in references[:30]] + captions[30:]
    alike = sentences(random, len(captions))
    systems = [("first", captions), ("better", better), ("alike", alike), ("same", captions)]
    for found in compare_captions(systems, references, test, samples=500):
        assert found.p_values[0] is None
        assert found.p_values[1] < 0.01
        assert found.p_values[3] == 1
    assert found.metric == CIDER
    assert found.p_values[2] > 0.05


def test_p_values_of_chance_are_spread_evenly():
    """Two systems that are equally good differ with p < 0.2 in a fifth of all sets."""
    random = np.random.default_rng(11)
    chances = []
    for _ in range(100):
        references = [[text] for text in sentences(random, 30)]
        systems = [("a", sentences(random, 30)), ("b", sentences(random, 30))]
        found = compare_captions(systems, references, "randomization", samples=100)
        chances.append(found[0].p_values[1])
    assert 10 <= sum(p < 0.2 for p in chances) <= 32


@pytest.mark.parametrize(
    ("captions", "references", "message"),
    [
        ([], [], "no captions to score"),
        (["a"], [["a"], ["b"]], "1 captions for 2 images"),
        (["a", "b"], [["a"], []], "image 2 has no reference"),
    ],
)
def test_faults_are_named(captions, references, message):
    with pytest.raises(UserError, match=message):
        score_captions(captions, references)
