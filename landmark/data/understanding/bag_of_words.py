"""Texts as bags of words: which of the frequent words a text has, and nothing of their order.

As Kingma and Ba 2014, arXiv 1412.6980, section 6.1: the 10,000 most frequent words. A word counts
once however often it stands there.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from torch import Tensor

from landmark.core.storage import read_signed_as, signed, write_durably
from landmark.data.batch import Batch
from landmark.data.ordering import Plan, even_batches
from landmark.data.understanding.example import LabeledText

FILE = "words.json"


@dataclass
class BagBatch(Batch):
    """B bags of words, one behind the other, with their classes."""

    words: Tensor  # (N,)
    starts: Tensor  # (B + 1,) where each begins; the last is N
    labels: Tensor  # (B,)

    @property
    def num_tokens(self) -> int:
        return len(self.labels)


class WordList:
    """The words that are known, the most frequent first."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, examples: Iterable[LabeledText], size: int) -> "WordList":
        """The words of most texts; of equally frequent ones the first in the alphabet."""
        counts = Counter(word for example in examples for word in set(_words(example)))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls([word for word, _ in ranked[:size]])

    def bag(self, example: LabeledText) -> list[int]:
        """The known words of a text, each once."""
        known = {self.numbers[word] for word in _words(example) if word in self.numbers}
        return sorted(known)

    def save(self, path: Path) -> None:
        write_durably(path, signed({"words": self.words}))

    @classmethod
    def load(cls, path: Path) -> "WordList":
        return cls(read_signed_as(TypeAdapter(_Content), path, "put the run's own back").words)


@dataclass(frozen=True)
class _Content:
    """What a word list's file holds."""

    words: tuple[str, ...]


def _words(example: LabeledText) -> list[str]:
    return [word for text in example.texts for word in text.lower().split()]


class BagSamples:
    """The bags of one split."""

    def __init__(
        self,
        examples: Sequence[LabeledText],
        words: WordList,
        classes: Sequence[str],
        size: int,
        seed: int,
        shuffle: bool = True,
    ) -> None:
        numbers = {name: number for number, name in enumerate(classes)}
        self.bags = [np.array(words.bag(example), np.int64) for example in examples]
        self.labels = np.array([numbers[str(example.label)] for example in examples], np.int64)
        self.size, self.seed, self.shuffle = size, seed, shuffle

    def plan(self, epoch: int) -> Plan:
        return even_batches(len(self.bags), self.size, self.seed, epoch, self.shuffle)

    def collate(self, epoch: int, samples: Sequence[int]) -> BagBatch:
        chosen = np.asarray(samples, np.int64)
        words, starts = joined([self.bags[number] for number in chosen])
        return BagBatch(words=words, starts=starts, labels=torch.from_numpy(self.labels[chosen]))


def joined(bags: Sequence[Sequence[int] | NDArray[np.int64]]) -> tuple[Tensor, Tensor]:
    """Bags one behind the other, and where each begins; the last is their length."""
    starts = np.cumsum([0, *(len(bag) for bag in bags)])
    words = np.concatenate([np.asarray(bag, np.int64) for bag in bags])
    return torch.from_numpy(words), torch.from_numpy(starts)
