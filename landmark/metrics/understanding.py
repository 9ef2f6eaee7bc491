"""Scores of understanding: accuracy, F1, Matthews', Pearson's and Spearman's correlation, answers.

Matthews 1975, for more than two classes Gorodkin 2004. Answers are compared as SQuAD does
(Rajpurkar et al. 2016, arXiv 1606.05250), spans of tags as CoNLL's shared tasks do. Intervals are
of 95 %, by bootstrap resampling of examples with a fixed seed, so they are the same every time.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError

Numbers = NDArray[np.float64]
Formula = Callable[[Numbers], Numbers]
"""From sums of what each example has (R, C) to the score of each row (R,)."""
RESAMPLES = 1000
_SEED = 12345
_TOGETHER = 1 << 22  # examples x resamples drawn at a time
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class IntervalScore:
    """A number, and between which two 95 % of resampled sets lie."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


def score_classes(
    guesses: Sequence[int], labels: Sequence[int], count: int, resamples: int = RESAMPLES
) -> list[IntervalScore]:
    """Accuracy, F1 and Matthews' correlation of classes 0 … count - 1."""
    guess, label = np.asarray(guesses, np.int64), np.asarray(labels, np.int64)
    cells = np.zeros((len(label), count * count))
    cells[np.arange(len(label)), label * count + guess] = 1

    def formula(name: str) -> Formula:
        return lambda sums: _confusion(sums.reshape(-1, count, count))[name]

    names = ("accuracy", "f1", "matthews")
    return [resampled(name, cells, formula(name), resamples) for name in names]


def confusion_scores(cells: Numbers) -> dict[str, float]:
    """F1 and Matthews' correlation of a confusion matrix, counts or rates. [label, guess]"""
    found = _confusion(cells[None])
    return {name: float(found[name][0]) for name in ("f1", "matthews")}


def _confusion(cells: Numbers) -> dict[str, Numbers]:
    """Of each of R matrices. F1 is the second class's of two, else the mean over all classes."""
    right = np.diagonal(cells, axis1=1, axis2=2)  # (R, K)
    given, guessed = cells.sum(2), cells.sum(1)
    total = cells.sum((1, 2))
    f1 = _ratio(2 * right, given + guessed)
    # Gorodkin's R_K; of two classes it is Matthews' own.
    covariance = right.sum(1) * total - (given * guessed).sum(1)
    spread = (total**2 - (given**2).sum(1)) * (total**2 - (guessed**2).sum(1))
    return {
        "accuracy": _ratio(right.sum(1), total),
        "f1": f1[:, 1] if cells.shape[1] == 2 else f1.mean(1),
        "matthews": _ratio(covariance, np.sqrt(np.maximum(spread, 0))),
    }


def score_numbers(
    guesses: Sequence[float], labels: Sequence[float], resamples: int = RESAMPLES
) -> list[IntervalScore]:
    """Pearson's correlation, and Spearman's of the ranks."""
    x, y = np.asarray(guesses, np.float64), np.asarray(labels, np.float64)
    return [
        resampled("pearson", _moments(x, y), _correlation, resamples),
        resampled("spearman", _moments(ranks(x), ranks(y)), _correlation, resamples),
    ]


def _moments(x: Numbers, y: Numbers) -> Numbers:
    """What a correlation is made of; centred, as it is a difference of large numbers otherwise."""
    x, y = x - x.mean(), y - y.mean()
    return np.stack((np.ones_like(x), x, y, x * x, y * y, x * y), 1)


def _correlation(sums: Numbers) -> Numbers:
    means = (sums[:, 1:] / sums[:, :1]).T
    return moment_correlation(*means)


def moment_correlation(
    x: Numbers | float,
    y: Numbers | float,
    xx: Numbers | float,
    yy: Numbers | float,
    xy: Numbers | float,
) -> Numbers:
    """Pearson's correlation from means; 0 where one of the two never changes."""
    covariance = np.asarray(xy - x * y)
    spread = np.asarray((xx - x * x) * (yy - y * y))
    return _ratio(covariance, np.sqrt(np.maximum(spread, 0)))


def ranks(values: Numbers) -> Numbers:
    """Each value's rank from 1; equal ones share the mean of theirs."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Numbers = last - (counts - 1) / 2
    return mean[group]


def score_tags(
    guesses: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    resamples: int = RESAMPLES,
) -> list[IntervalScore]:
    """The share of words tagged right and, where tags mark spans, the F1 of those."""
    pairs = list(zip(guesses, labels, strict=True))
    right = [[sum(a == b for a, b in zip(g, r, strict=True)), len(r)] for g, r in pairs]
    scores = [resampled("accuracy", np.array(right, np.float64), _share, resamples)]
    if has_spans(name for row in labels for name in row):
        counts = np.array([count_spans(g, r) for g, r in pairs], np.float64)
        scores.append(resampled("span_f1", counts, _span_f1, resamples))
    return scores


def _share(sums: Numbers) -> Numbers:
    return _ratio(sums[:, 0], sums[:, 1])


def _span_f1(sums: Numbers) -> Numbers:
    """There is nothing to find, and nothing was found: 1."""
    right, both = sums[:, 0], sums[:, 1] + sums[:, 2]
    return np.where(both > 0, _ratio(2 * right, both), 1.0)


def has_spans(tags: "Sequence[str] | Iterator[str]") -> bool:
    """Whether tags mark spans: O, B-x and I-x."""
    known = set(tags)
    return len(known) > 1 and all(tag == "O" or tag[:2] in ("B-", "I-") for tag in known)


def count_spans(guesses: Sequence[str], labels: Sequence[str]) -> tuple[int, int, int]:
    """Spans of the guesses that are right, those found, those to be found."""
    found, given = set(tag_spans(guesses)), set(tag_spans(labels))
    return len(found & given), len(found), len(given)


def tag_spans(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Type, first word and last word of each span; an I- that continues nothing begins one."""
    kind, first = "", 0
    for place, tag in enumerate([*tags, "O"]):
        goes_on = tag == f"I-{kind}" and kind
        if kind and not goes_on:
            yield kind, first, place - 1
            kind = ""
        if tag != "O" and not goes_on:
            kind, first = tag[2:], place


def score_answers(
    guesses: Sequence[str], answers: Sequence[Sequence[str]], resamples: int = RESAMPLES
) -> list[IntervalScore]:
    """Exact match and F1 as SQuAD's: of each question, that with the likest right answer."""
    rows = []
    for guess, rights in zip(guesses, answers, strict=True):
        accepted = [right for right in rights if _words(right)] or [""]
        exact = max(float(_words(guess) == _words(right)) for right in accepted)
        rows.append([exact, max(answer_f1(guess, right) for right in accepted), 1.0])
    table = np.array(rows, np.float64)
    return [
        resampled("exact", table[:, [0, 2]], _share, resamples),
        resampled("f1", table[:, [1, 2]], _share, resamples),
    ]


def answer_f1(guess: str, right: str) -> float:
    """The words that two answers share; if one has none, whether the other has none either."""
    said, wanted = _words(guess), _words(right)
    if not said or not wanted:
        return float(said == wanted)
    same = sum((Counter(said) & Counter(wanted)).values())
    return 2 * same / (len(said) + len(wanted))


def _words(answer: str) -> list[str]:
    """In small letters, without punctuation and articles."""
    return _ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split()


def score_mean(
    name: str, values: Sequence[float] | Numbers, resamples: int = RESAMPLES
) -> IntervalScore:
    """The mean of a number that each example has, as a loss."""
    rows = np.stack((np.asarray(values, np.float64), np.ones(len(values))), 1)
    return resampled(name, rows, lambda sums: sums[:, 0] / sums[:, 1], resamples)


def score_deviation(
    name: str, values: Sequence[float] | Numbers, resamples: int = RESAMPLES
) -> IntervalScore:
    """The standard deviation of a number that each example has."""
    x = np.asarray(values, np.float64)
    centred = x - x.mean()
    rows = np.stack((np.ones_like(x), centred, centred**2), 1)
    return resampled(name, rows, _deviation, resamples)


def _deviation(sums: Numbers) -> Numbers:
    mean, square = (sums[:, 1:] / sums[:, :1]).T
    found: Numbers = np.sqrt(np.maximum(square - mean**2, 0))
    return found


def resampled(
    name: str, rows: Numbers, formula: Formula, resamples: int = RESAMPLES
) -> IntervalScore:
    """A score that is a formula of sums over examples, with its interval. rows: (N, C)"""
    if not len(rows):
        raise UserError("there are no examples to score")
    value = float(formula(rows.sum(0)[None])[0])
    if resamples < 2:
        return IntervalScore(name, value)
    random, count = np.random.default_rng(_SEED), len(rows)
    together = max(1, _TOGETHER // count)
    drawn: list[float] = []
    while len(drawn) < resamples:
        number = min(together, resamples - len(drawn))
        times = random.multinomial(count, np.full(count, 1 / count), size=number)
        drawn += formula(times @ rows).tolist()
    low, high = np.percentile(drawn, (2.5, 97.5))
    return IntervalScore(name, value, float(low), float(high))


def _ratio(above: Numbers, below: Numbers) -> Numbers:
    """Their ratio; 0 where there is nothing below."""
    result: Numbers = np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)
    return result
