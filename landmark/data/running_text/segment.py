"""The segments of each sample of an epoch: one, or two for next-sentence prediction.

Devlin et al. 2019, arXiv 1810.04805, appendix A.2: sentences of a document are put together up to
the model's length, now and then to a shorter one, and cut in two at a sentence's end; for half of
the pairs, the second segment is then taken from another document, and what was cut off is read
anew. Departures: a sample ends before the sentence that would not fit (the paper's ends within it),
and what has only one sentence left stays alone, with nothing to say of what follows.
"""

from array import array
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from landmark.core.runtime import derive_seed
from landmark.data.running_text.passage import SIDE
from landmark.data.shards import TokenStore

FOLLOWS, IS_ANOTHER, IS_ALONE = 0, 1, -1


class Segments(NamedTuple):
    """The sentences of a sample: those of the first segment, and of the second."""

    start: int
    stop: int
    second_start: int
    second_stop: int
    kind: int
    """FOLLOWS, IS_ANOTHER or IS_ALONE: how the second segment relates to the first."""


class SegmentPlan:
    """The samples that a store of sentences gives in each epoch."""

    def __init__(
        self, store: TokenStore, room: int, in_pairs: bool, short: float, seed: int
    ) -> None:
        """`room`: tokens of a sample; `short`: the share of samples that are given less."""
        self.store, self.room, self.in_pairs, self.short, self.seed = (
            store, room, in_pairs, short, seed,
        )  # fmt: skip
        lengths = store.lengths[SIDE]
        self.ends = np.flatnonzero(lengths == 0)
        self.total = np.concatenate(([0], np.cumsum(lengths)))
        self._laid_out: tuple[int, NDArray[np.int64]] | None = None

    def samples(self, epoch: int) -> NDArray[np.int64]:
        """All samples of an epoch, a row each with the numbers of `Segments`. (S, 5)"""
        if self._laid_out is None or self._laid_out[0] != epoch:
            numbers = np.frombuffer(self._lay_out(epoch), np.int64)
            self._laid_out = epoch, numbers.reshape(-1, len(Segments._fields))
        return self._laid_out[1]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """How many tokens each sample has. (S,)"""
        start, stop, second_start, second_stop, _ = self.samples(epoch).T
        total = self.total
        both = total[stop] - total[start] + total[second_stop] - total[second_start]
        return np.minimum(both, self.room)

    def tokens(self, epoch: int, sample: int) -> tuple[NDArray[Any], NDArray[Any], int]:
        """The two segments of a sample, the second cut to fit, and what that is."""
        segments = Segments(*self.samples(epoch)[sample].tolist())
        first = self._read(segments.start, segments.stop)
        second = self._read(segments.second_start, segments.second_stop)
        return first, second[: self.room - len(first)], segments.kind

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        if start == stop:
            return np.zeros(0, self.store.dtype)
        return np.concatenate([self.store[SIDE, number] for number in range(start, stop)])

    def _lay_out(self, epoch: int) -> "array[int]":
        random = np.random.default_rng(derive_seed(self.seed, "segments", epoch))
        samples = array("q")  # millions of them take no more room than their numbers
        begin = 0
        for document, end in enumerate(map(int, self.ends)):
            while begin < end:
                target = self._target(random)
                stop = self._fill(begin, end, target, fewest=2 if self.in_pairs else 1)
                if not self.in_pairs or stop - begin == 1:
                    samples.extend(Segments(begin, stop, stop, stop, IS_ALONE))
                    begin = stop
                    continue
                middle = begin + 1 + int(random.integers(stop - begin - 1))
                if random.random() < 0.5:
                    samples.extend(Segments(begin, middle, middle, stop, FOLLOWS))
                    begin = stop
                else:
                    left = target - int(self.total[middle] - self.total[begin])
                    other = self._elsewhere(document, left, random)
                    samples.extend(Segments(begin, middle, *other, IS_ANOTHER))
                    begin = middle
            begin = end + 1
        return samples

    def _target(self, random: np.random.Generator) -> int:
        if random.random() < self.short:
            return int(random.integers(2, self.room, endpoint=True))
        return self.room

    def _fill(self, begin: int, end: int, target: int, fewest: int) -> int:
        """Behind the last sentence that still fits; so many are taken in any case."""
        limit = int(self.total[begin]) + target
        stop = bisect_right(self.total, limit, begin + 1, end + 1) - 1
        return min(end, max(stop, begin + fewest))

    def _elsewhere(
        self, document: int, target: int, random: np.random.Generator
    ) -> tuple[int, int]:
        """Sentences of another document, from anywhere in it."""
        other = int(random.integers(len(self.ends) - 1))
        other += other >= document
        begin, end = int(self.ends[other - 1]) + 1 if other else 0, int(self.ends[other])
        begin += int(random.integers(end - begin))
        return begin, self._fill(begin, end, target, fewest=1)
