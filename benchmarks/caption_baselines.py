"""What captions score that no network wrote, on Flickr8k's test split: the least to be beaten.

- constant: one caption of the training set for every image, the best of them on the validation
  split, chosen by BLEU-4 and by CIDEr-D;
- nearest: the first caption of the training image that is nearest in 8 x 8 pixels (its other
  captions: BLEU-4 from 2.4 to 3.0, CIDEr-D 0.07);
- human: the first human caption, scored against the other four.

    python benchmarks/caption_baselines.py

The set is looked for in LANDMARK_DATA, and fetched if it is not there. It takes about a minute
of one core.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.data.captions.flickr8k import flickr8k_splits
from landmark.data.captions.source import CaptionedSource, Captions
from landmark.data.images.decoding import Fitting
from landmark.data.images.reading import warn, whole_images
from landmark.metrics.captions import (
    CIDER,
    ORDER,
    CaptionScores,
    CiderD,
    bleu_formula,
    score_captions,
)

_HALVING = ((20, 3000), (100, 200), (1000, 1))
"""Constant captions by CIDEr-D: on so many images, keep so many of the best."""


def constant_by_cider(candidates: Sequence[str], references: Captions) -> str:
    """The caption that is best for all images at once; the weak ones are dropped on a few."""
    for images, kept in _HALVING:
        some = references[:: max(1, len(references) // images)]
        metric = CiderD(some)
        means = [metric.score([caption] * len(some)).mean() for caption in candidates]
        candidates = [candidates[n] for n in np.argsort(means)[::-1][:kept]]
    return candidates[0]


def constant_by_bleu(candidates: Sequence[str], references: Captions) -> str:
    """The caption with the best BLEU-4, exactly, from how many images have each n-gram."""
    having: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for given in references:
        most: Counter[tuple[str, ...]] = Counter()
        for text in given:
            most |= ngrams(text)  # the larger count of each
        for ngram, count in most.items():
            having[ngram].update(range(1, count + 1))
    lengths = [[len(text.split()) for text in given] for given in references]
    nearest = {
        words: sum(min((abs(n - words), n) for n in own)[1] for own in lengths)
        for words in {len(text.split()) for text in candidates}
    }
    rows = []
    for caption in candidates:
        words, found = len(caption.split()), [0] * ORDER
        for ngram, count in ngrams(caption).items():
            if ngram in having:
                found[len(ngram) - 1] += sum(having[ngram][k] for k in range(1, count + 1))
        totals = [max(0, words - n) * len(references) for n in range(ORDER)]
        rows.append([words * len(references), nearest[words], *found, *totals])
    return candidates[int(np.argmax(bleu_formula(4)(np.array(rows, np.float64))))]


def ngrams(text: str) -> Counter[tuple[str, ...]]:
    words = text.split()
    spans = ((i, i + n) for n in range(1, ORDER + 1) for i in range(len(words) - n + 1))
    return Counter(tuple(words[first:last]) for first, last in spans)


def thumbnails(source: CaptionedSource, side: int) -> NDArray[np.float32]:
    """All images of a split as a few numbers. (N, side * side * 3)"""
    fitting = Fitting(side, "squeeze")
    whole = whole_images(source.images, fitting, strict=True, broken={})
    return np.stack([pixels.reshape(-1) for pixels, _, _ in whole]).astype(np.float32)


def nearest_captions(train: CaptionedSource, test: CaptionedSource, side: int) -> list[str]:
    """The first caption of the training image whose thumbnail is nearest."""
    known, asked = thumbnails(train, side), thumbnails(test, side)
    distances = (known**2).sum(1) - 2 * asked @ known.T  # but for a constant of each row
    return [train.captions[number][0] for number in distances.argmin(1).tolist()]


def baselines(side: int) -> Iterator[tuple[str, CaptionScores, str]]:
    """Name, scores and a note of each."""
    splits = flickr8k_splits(warn)
    train, valid, test = (splits[name] for name in ("train", "valid", "test"))
    known = list(dict.fromkeys(text for texts in train.captions for text in texts))
    for name, choose in (("BLEU-4", constant_by_bleu), (CIDER, constant_by_cider)):
        caption = choose(known, valid.captions)
        scores = score_captions([caption] * len(test), test.captions, known)
        yield f"constant, by {name}", scores, caption
    nearest = nearest_captions(train, test, side)
    yield f"nearest, {side} x {side}", score_captions(nearest, test.captions, known), nearest[0]
    first = [texts[0] for texts in test.captions]
    others = [texts[1:] for texts in test.captions]
    yield "human, 4 references", score_captions(first, others, known), first[0]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=8, help="pixels of a thumbnail's side")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each")
    options = parser.parse_args(arguments)
    names = [*(f"BLEU-{n}" for n in range(1, ORDER + 1)), CIDER]
    if not options.json:
        print(f"{'':<22}" + "".join(f"{name:>9}" for name in names) + "  copied  example")
    for name, scores, example in baselines(options.side):
        if options.json:
            record: dict[str, Any] = {"name": name, "example": example, **asdict(scores)}
            print(json.dumps(record), flush=True)
            continue
        values = "".join(f"{scores.value(key):9.2f}" for key in names)
        print(f"{name:<22}{values}  {scores.copied:6.1%}  {example}", flush=True)


if __name__ == "__main__":
    main()
