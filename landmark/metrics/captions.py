"""Scores of captions with any number of references: BLEU-1 to BLEU-4, CIDEr-D, how varied they are.

BLEU's counts are sacrebleu's, of the words as they stand, against the reference of the nearest
length; each is given with and without the brevity penalty. CIDEr-D: Vedantam et al. 2015, arXiv
1411.5726, with the idf of the references given, on the scale that pycocoevalcap prints (0 to 10).
Captions and references are expected in the same form: words with a space between them.

Intervals are of 95 %, by bootstrap resampling of images with a fixed seed; CIDEr-D keeps its idf.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from landmark.core.errors import UserError
from landmark.metrics.translation import Comparison, Test, affordable
from landmark.metrics.understanding import (
    RESAMPLES,
    Formula,
    IntervalScore,
    Numbers,
    resampled,
)

ORDER = 4
"""The longest n-grams that are counted."""
CIDER = "CIDEr-D"
_SIGMA = 6.0  # words by which lengths may differ
_SCALE = 10.0
_SEED = 12345
_SAMPLES = {"bootstrap": 1000, "randomization": 10_000}
_TOGETHER = 1 << 22  # images x resamples drawn at a time

References = Sequence[Sequence[str]]
"""All references of each image."""
NGram = tuple[str, ...]


@dataclass(frozen=True)
class CaptionScores:
    """All scores of one system on one set."""

    images: int
    scores: tuple[IntervalScore, ...]
    """BLEU in percent, CIDEr-D from 0 to 10."""
    brevity_penalty: float
    mean_words: float
    """Words of a caption."""
    reference_words: float
    """Words of the reference whose length is nearest."""
    distinct: int
    """Number of different captions."""
    copied: float | None
    """Share of captions that occur in training, word by word; None: training is not known."""
    signature: str
    """sacrebleu's, of BLEU-4."""

    def value(self, name: str) -> float:
        """The score of that name."""
        return next(score.value for score in self.scores if score.name == name)


@dataclass(frozen=True)
class _Measure:
    """A score that is a formula of sums over images. rows: (N, C)"""

    rows: Numbers
    formula: Formula


def score_captions(
    captions: Sequence[str],
    references: References,
    training: Collection[str] | None = None,
    resamples: int = RESAMPLES,
) -> CaptionScores:
    """BLEU, CIDEr-D and variety of one caption an image; `training`: the captions learnt from."""
    measures = _measures(captions, references)
    counts = measures["BLEU-4"].rows.sum(0)
    known = None if training is None else set(training)
    return CaptionScores(
        images=len(captions),
        scores=tuple(
            resampled(name, measure.rows, measure.formula, resamples)
            for name, measure in measures.items()
        ),
        brevity_penalty=float(_penalty(counts[None])[0]),
        mean_words=float(counts[0]) / len(captions),
        reference_words=float(counts[1]) / len(captions),
        distinct=len(set(captions)),
        copied=None if known is None else sum(text in known for text in captions) / len(captions),
        signature=_signature(captions, references),
    )


def compare_captions(
    systems: Sequence[tuple[str, Sequence[str]]],
    references: References,
    test: Test = "bootstrap",
    samples: int = 0,
) -> list[Comparison]:
    """Whether other systems differ from the first on the same images, by each score.

    Paired bootstrap resampling (Koehn 2004) or approximate randomization (Riezler and Maxwell
    2005), both two-sided. `samples` 0: 1,000 or 10,000. Equal scores have p = 1.
    """
    samples = affordable(test, samples or _SAMPLES[test], len(references))
    measured = [_measures(captions, references) for _, captions in systems]
    comparisons = []
    for name, first in measured[0].items():
        others = [measures[name] for measures in measured[1:]]
        values = [float(m.formula(m.rows.sum(0)[None])[0]) for m in (first, *others)]
        chances = [
            1.0 if value == values[0] else _chance(first, other, test, samples)
            for value, other in zip(values[1:], others, strict=True)
        ]
        signature = f"{test}:{samples}|seed:{_SEED}"
        comparisons.append(Comparison(name, signature, tuple(values), (None, *chances)))
    return comparisons


def _chance(first: _Measure, other: _Measure, test: Test, samples: int) -> float:
    """How probable so large a difference is if the two systems are equally good."""
    formula, count = first.formula, len(first.rows)
    sums = [first.rows.sum(0)[None], other.rows.sum(0)[None]]
    observed = abs(float((formula(sums[1]) - formula(sums[0]))[0]))
    random = np.random.default_rng(_SEED)
    differences: list[Numbers] = []
    together = max(1, _TOGETHER // count)
    for first_of in range(0, samples, together):
        number = min(together, samples - first_of)
        if test == "bootstrap":
            times = random.multinomial(count, np.full(count, 1 / count), size=number)
            differences.append(formula(times @ other.rows) - formula(times @ first.rows))
        else:
            moved = random.integers(0, 2, (number, count)) @ (other.rows - first.rows)
            differences.append(formula(sums[1] - moved) - formula(sums[0] + moved))
    drawn = np.concatenate(differences)
    if test == "bootstrap":
        drawn = drawn - drawn.mean()  # as they would be if there were no difference
    return float((np.count_nonzero(np.abs(drawn) >= observed) + 1) / (samples + 1))


def _measures(captions: Sequence[str], references: References) -> Mapping[str, _Measure]:
    _check(captions, references)
    counts = bleu_counts(captions, references)
    measures = {}
    for order in range(1, ORDER + 1):
        measures[f"BLEU-{order}"] = _Measure(counts, bleu_formula(order))
    for order in range(1, ORDER + 1):
        measures[f"BLEU-{order} without penalty"] = _Measure(counts, bleu_formula(order, False))
    scores = CiderD(references).score(captions)
    rows = np.stack((scores, np.ones(len(scores))), 1)
    measures[CIDER] = _Measure(rows, lambda sums: sums[:, 0] / sums[:, 1])
    return measures


def _check(captions: Sequence[str], references: References) -> None:
    if len(captions) != len(references):
        raise UserError(
            f"there are {len(captions):,} captions for {len(references):,} images: give one each"
        )
    if not references:
        raise UserError("there are no captions to score")
    bare = next((n for n, given in enumerate(references, 1) if not any(given)), None)
    if bare:
        raise UserError(f"image {bare} has no reference: leave it out, or give it one")


def bleu_counts(captions: Sequence[str], references: References) -> Numbers:
    """Per image: words, words of the nearest reference, n-grams found, n-grams in all. (N, 10)"""
    metric = BLEU(tokenize="none", force=True, effective_order=True)
    rows = []
    for caption, given in zip(captions, references, strict=True):
        found = metric.sentence_score(caption, [text for text in given if text])
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return np.array(rows, np.float64)


def _signature(captions: Sequence[str], references: References) -> str:
    """sacrebleu's, which it knows once it has scored: with the number of references."""
    metric = BLEU(tokenize="none", force=True)
    streams = [list(stream) for stream in zip_longest(*references)]
    metric.corpus_score(list(captions), streams)
    return str(metric.get_signature())


def bleu_formula(order: int, with_penalty: bool = True) -> Formula:
    """BLEU of sums of `bleu_counts`; where none is found, smoothed as sacrebleu does ("exp")."""

    def formula(sums: Numbers) -> Numbers:
        found, total = sums[:, 2 : 2 + order], sums[:, 2 + ORDER : 2 + ORDER + order]
        halvings = 0.5 ** np.cumsum(found == 0, axis=1)
        above = np.where(found > 0, found, halvings)
        precisions = np.divide(above, total, out=np.zeros_like(above), where=total > 0)
        with np.errstate(divide="ignore"):
            score = 100 * np.exp(np.log(precisions).mean(1))
        score[~found.any(1)] = 0
        result: Numbers = score * _penalty(sums) if with_penalty else score
        return result

    return formula


def _penalty(sums: Numbers) -> Numbers:
    """The brevity penalty: exp(1 - r / c) where captions are shorter than references."""
    words, wanted = sums[:, 0], sums[:, 1]
    ratio = np.divide(wanted, words, out=np.full(len(words), np.inf), where=words > 0)
    penalty: Numbers = np.exp(np.minimum(0, 1 - ratio))
    return penalty


class CiderD:
    """CIDEr-D against references whose weights are computed once.

    The similarity of an n-gram length is the cosine of tf-idf vectors, with the caption's weights
    clipped to the reference's, times exp(-d^2 / (2 sigma^2)) of the difference d in length. The
    score is its mean over n = 1 to 4 and over references, times 10.
    """

    def __init__(self, references: References) -> None:
        counted = [[_ngrams(text) for text in given] for given in references]
        seen = Counter(chain.from_iterable(set().union(*given) for given in counted))
        self._log_images = math.log(max(1, len(references)))
        self._idf = {ngram: self._log_images - math.log(number) for ngram, number in seen.items()}
        self._references = [[self._weigh(counts) for counts in given] for given in counted]

    def score(self, captions: Sequence[str]) -> Numbers:
        """The score of each image's caption. (N,)"""
        pairs = zip(captions, self._references, strict=True)
        return np.array([self._score(caption, given) for caption, given in pairs], np.float64)

    def _score(self, caption: str, references: Sequence["_Vector"]) -> float:
        weighed = self._weigh(_ngrams(caption))
        total = sum(_similarity(weighed, reference) for reference in references)
        return _SCALE * total / len(references)

    def _weigh(self, counts: Counter[NGram]) -> "_Vector":
        """Counts times idf; an n-gram in no reference counts as if it were in one."""
        weights = {
            ngram: count * self._idf.get(ngram, self._log_images) for ngram, count in counts.items()
        }
        squares = [0.0] * ORDER
        for ngram, weight in weights.items():
            squares[len(ngram) - 1] += weight**2
        bigrams = sum(count for ngram, count in counts.items() if len(ngram) == 2)
        return _Vector(weights, tuple(map(math.sqrt, squares)), bigrams)


@dataclass(frozen=True)
class _Vector:
    """The weights of a text's n-grams, their norm for each length, and the text's length."""

    weights: Mapping[NGram, float]
    norms: tuple[float, ...]
    length: int
    """In bigrams, as pycocoevalcap counts."""


def _similarity(caption: _Vector, reference: _Vector) -> float:
    """The mean over n of the clipped cosine, with the penalty of unequal lengths."""
    products = [0.0] * ORDER
    for ngram, weight in caption.weights.items():
        other = reference.weights.get(ngram)
        if other:
            products[len(ngram) - 1] += min(weight, other) * other
    cosines = [
        product / (one * other) if one and other else 0.0
        for product, one, other in zip(products, caption.norms, reference.norms, strict=True)
    ]
    apart = caption.length - reference.length
    return sum(cosines) / ORDER * math.exp(-(apart**2) / (2 * _SIGMA**2))


def _ngrams(text: str) -> Counter[NGram]:
    """How often each n-gram of 1 to 4 words occurs."""
    words = text.split()
    return Counter(
        tuple(words[start : start + n])
        for n in range(1, ORDER + 1)
        for start in range(len(words) - n + 1)
    )


def mean_cider(captions: Sequence[str], references: References) -> float:
    """CIDEr-D alone."""
    _check(captions, references)
    return float(CiderD(references).score(captions).mean())
