"""Scores of translations by sacrebleu (Post 2018, arXiv 1804.08771), each with its signature.

Intervals are of 95 %, by bootstrap resampling (Koehn 2004); sacrebleu's seed is fixed, so they are
the same every time (the environment's SACREBLEU_SEED sets another, and the signature names it).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from landmark.core.errors import UserError

Test = Literal["bootstrap", "randomization"]
_SACREBLEU_TESTS = {"bootstrap": "bs", "randomization": "ar"}
# sacrebleu holds all resamples at once: more samples x sentences would fill the memory.
_MOST_RESAMPLED = {"bootstrap": 10_000_000, "randomization": 40_000_000}


@dataclass(frozen=True)
class BleuParts:
    """What BLEU is made of."""

    precisions: tuple[float, ...]
    """Of 1- to 4-grams, in percent."""
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


@dataclass(frozen=True)
class Score:
    """A number and the signature that says exactly how it was computed."""

    name: str
    value: float
    signature: str
    mean: float | None = None
    """Mean over the bootstrap resamples …"""
    interval: float | None = None
    """… and half the width of their 95 % interval."""
    parts: BleuParts | None = None


@dataclass(frozen=True)
class LengthBin:
    """BLEU of the sentences whose source has `first` to `last` words."""

    first: int
    last: int
    sentences: int
    mean_words: float
    bleu: Score


@dataclass(frozen=True)
class Comparison:
    """One metric of several systems on one set; the p-values are against the first system."""

    metric: str
    signature: str
    values: tuple[float, ...]
    p_values: tuple[float | None, ...]
    """p-value of the difference to the first system; None for the first system."""


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenized: bool = False,
    bootstrap: int = 0,
) -> list[Score]:
    """BLEU, chrF, TER and the share of exact matches, in percent.

    `tokenized`: words and signs are apart already, BLEU takes them as they are. `bootstrap`:
    resamples for intervals, 0 for none; fewer if the set is so large that memory would not do.
    """
    if not references:
        raise UserError("there are no sentences to score")
    same = sum(a == b for a, b in zip(hypotheses, references, strict=True))
    resamples = affordable("bootstrap", bootstrap, len(references))
    scores = [
        _score(metric, hypotheses, references, resamples) for metric in _metrics(tokenized).values()
    ]
    return [*scores, _exact_match(same, len(references), resamples)]


def bleu(hypotheses: Sequence[str], references: Sequence[str], tokenized: bool = False) -> float:
    """BLEU alone, in percent."""
    metric = _metrics(tokenized)["BLEU"]
    return float(metric.corpus_score(list(hypotheses), [list(references)]).score)


def score_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenized: bool = False,
    bootstrap: int = 0,
    width: int = 5,
    fewest: int = 30,
) -> list[LengthBin]:
    """BLEU by the number of source words, in bins of `width`; one of too few joins the next."""
    lengths = [len(source.split()) for source in sources]
    bins = []
    for first, last in length_bins(lengths, width, fewest):
        chosen = [number for number, length in enumerate(lengths) if first <= length <= last]
        bleu = _score(
            _metrics(tokenized)["BLEU"],
            [hypotheses[number] for number in chosen],
            [references[number] for number in chosen],
            affordable("bootstrap", bootstrap, len(chosen)),
        )
        mean = sum(lengths[number] for number in chosen) / len(chosen)
        bins.append(LengthBin(first, last, len(chosen), mean, bleu))
    return bins


def length_bins(lengths: Sequence[int], width: int, fewest: int) -> list[tuple[int, int]]:
    """First and last length of each bin, every bin with `fewest` members if there are so many."""
    bins: list[tuple[int, int]] = []
    first, longest = 1, max([1, *lengths])
    for last in range(width, longest + width, width):
        if sum(first <= max(1, length) <= last for length in lengths) >= fewest:
            bins.append((first, last))
            first = last + 1
    if first <= longest:  # what is left joins the last bin
        bins[-1:] = [(bins[-1][0] if bins else 1, -(-longest // width) * width)]
    if 0 in lengths:  # a blank line counts too
        bins[0] = (0, bins[0][1])
    return bins


def compare_translations(
    systems: Sequence[tuple[str, Sequence[str]]],
    references: Sequence[str],
    tokenized: bool = False,
    test: Test = "bootstrap",
    samples: int = 0,
) -> list[Comparison]:
    """Whether other systems differ from the first: sacrebleu's paired tests, by each metric.

    Paired bootstrap resampling (Koehn 2004) or approximate randomization (Riezler and Maxwell
    2005). `samples` 0: as many as sacrebleu takes, 1,000 or 10,000. Equal scores have p = 1
    (sacrebleu would say 1 / samples of a system against itself).
    """
    usual = 1000 if test == "bootstrap" else 10_000
    paired: Any = PairedTest(
        list(systems),
        _metrics(tokenized),
        [list(references)],
        test_type=_SACREBLEU_TESTS[test],
        n_samples=affordable(test, samples or usual, len(references)),
    )
    signatures, results = paired()
    comparisons = []
    for name, signature in signatures.items():
        values = tuple(float(result.score) for result in results[name])
        chances = [
            1.0 if value == values[0] else float(result.p_value)
            for value, result in zip(values[1:], results[name][1:], strict=True)
        ]
        comparisons.append(Comparison(name, str(signature), values, (None, *chances)))
    return comparisons


def affordable(test: Test, samples: int, sentences: int) -> int:
    """As many samples as asked for, if they fit into memory; at least 100 of those."""
    return min(samples, max(100, _MOST_RESAMPLED[test] // sentences))


def _metrics(tokenized: bool) -> Mapping[str, Any]:
    bleu = BLEU(tokenize="none", force=True) if tokenized else BLEU()
    return {"BLEU": bleu, "chrF2": CHRF(), "TER": TER()}


def _score(
    metric: Any, hypotheses: Sequence[str], references: Sequence[str], resamples: int
) -> Score:
    result = metric.corpus_score(list(hypotheses), [list(references)])
    signature, mean, interval, parts = str(metric.get_signature()), None, None, None
    if resamples > 1:
        # A paired test of one system: corpus_score's own bootstrap stumbles over scores of 0.
        paired: Any = PairedTest(
            [("", list(hypotheses))], {"": metric}, [list(references)], "bs", resamples
        )
        signatures, found = paired()
        (spread,) = found[result.name]
        mean, interval = float(spread.mean), float(spread.ci)
        signature = str(signatures[result.name])
    if isinstance(metric, BLEU):
        precisions = tuple(float(precision) for precision in result.precisions)
        parts = BleuParts(precisions, float(result.bp), int(result.sys_len), int(result.ref_len))
    return Score(result.name, float(result.score), signature, mean, interval, parts)


def _exact_match(same: int, count: int, resamples: int) -> Score:
    """How many are right in a resampled set is binomial: no need to draw the set itself."""
    mean = interval = None
    signature = f"n:{count}"
    if resamples > 1:
        drawn = np.random.default_rng(12345).binomial(count, same / count, resamples) / count * 100
        low, high = np.percentile(drawn, (2.5, 97.5))
        mean, interval = float(drawn.mean()), float(high - low) / 2
        signature += f"|bs:{resamples}|seed:12345"
    return Score("exact match", 100 * same / count, signature, mean, interval)
