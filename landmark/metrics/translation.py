"""Scores of translations by sacrebleu (Post 2018, arXiv 1804.08771), each with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from landmark.core.errors import UserError


@dataclass(frozen=True)
class Score:
    """A number and the signature that says exactly how it was computed."""

    name: str
    value: float
    signature: str


def score_translations(hypotheses: Sequence[str], references: Sequence[str]) -> list[Score]:
    """BLEU, chrF and the share of exact matches, in percent."""
    if not references:
        raise UserError("there are no sentences to score")
    scores = []
    for metric in (BLEU(), CHRF()):
        result = metric.corpus_score(list(hypotheses), [list(references)])
        scores.append(Score(result.name, result.score, str(metric.get_signature())))
    same = sum(a == b for a, b in zip(hypotheses, references, strict=True))
    scores.append(Score("exact match", 100 * same / len(references), f"n:{len(references)}"))
    return scores
