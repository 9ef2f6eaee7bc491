import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from landmark.core.errors import UserError
from landmark.metrics.translation import score_translations

HYPOTHESES = ["Der Hund sieht den Mann.", "Die Frau liest.", "Ein Vogel singt im Garten."]
REFERENCES = ["Der Hund sieht den Mann.", "Die Frau liest ein Buch.", "Vögel singen im Garten."]


def test_scores_are_sacrebleus_with_its_signatures():
    bleu, chrf, exact = score_translations(HYPOTHESES, REFERENCES)
    for score, metric in ((bleu, BLEU()), (chrf, CHRF())):
        assert score.value == metric.corpus_score(HYPOTHESES, [REFERENCES]).score
        assert score.signature == str(metric.get_signature())
    assert (bleu.name, chrf.name, exact.name) == ("BLEU", "chrF2", "exact match")
    assert 20 < bleu.value < 80
    assert "tok:13a" in bleu.signature
    assert "version:" in chrf.signature


def test_exact_match_is_the_share_of_equal_lines_in_percent():
    *_, exact = score_translations(HYPOTHESES, REFERENCES)
    assert exact.value == pytest.approx(100 / 3)
    assert exact.signature == "n:3"


def test_a_perfect_translation_scores_a_hundred():
    assert [s.value for s in score_translations(REFERENCES, REFERENCES)] == pytest.approx([100] * 3)


def test_references_are_taken_line_by_line():
    shuffled = REFERENCES[1:] + REFERENCES[:1]
    assert score_translations(REFERENCES, shuffled)[-1].value == 0


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        score_translations(HYPOTHESES, REFERENCES[:2])


def test_nothing_cannot_be_scored():
    with pytest.raises(UserError, match="no sentences to score"):
        score_translations([], [])
