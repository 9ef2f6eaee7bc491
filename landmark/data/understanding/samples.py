"""Encoded examples as samples: shuffled batches of similar lengths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.limits import WORKERS
from landmark.data.batch import Batch
from landmark.data.ordering import Plan, like_length_batches
from landmark.data.understanding.encoding import EncodedExample
from landmark.data.understanding.example import Kind
from landmark.layers.packing import Packing


@settings
class ExampleBatchConfig:
    """Batches of examples."""

    size: Annotated[int, Field(ge=1)] = 32
    """Batch size in examples."""
    pool: Annotated[int, Field(ge=1)] = 8
    """Number of batches of shuffled examples to sort by length together (less padding)."""
    max_length: Annotated[int, Field(ge=8)] | None = None
    """Maximum sequence length in tokens, longer texts are truncated; null: the model's (recurrent:
    512).
    """
    workers: Annotated[int, Field(ge=0, le=WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""


@dataclass
class UnderstandingBatch(Batch):
    """B examples as S packed sequences of N tokens; what is to be found, by kind of task."""

    tokens: Tensor  # (N,)
    segments: Tensor  # (N,) 0 or 1
    packing: Packing  # of S sequences
    owners: Tensor  # (S,) which example each sequence is of
    size: int
    """B."""
    labels: Tensor
    """(B,) classes, numbers or choices; tagging: (M,) tags; span: (M,) 1 start, 2 end, 3 both."""
    places: Tensor
    """Tagging: (M,) each word's first token; span: (M,) tokens that an answer is made of."""
    place_owners: Tensor
    """(M,) which example each place is of."""

    @property
    def num_tokens(self) -> int:
        return self.packing.num_tokens


class ExampleSamples:
    """The readings of one split."""

    def __init__(
        self,
        readings: Sequence[EncodedExample],
        kind: Kind,
        config: ExampleBatchConfig,
        seed: int,
        shuffle: bool = True,
    ) -> None:
        self.readings, self.kind, self.config = readings, kind, config
        self.seed, self.shuffle = seed, shuffle
        self.lengths = np.array([reading.num_tokens for reading in readings])

    def plan(self, epoch: int) -> Plan:
        """Examples that are not shuffled are all sorted by length."""
        each = np.ones(len(self.readings), np.int64)
        pool = self.config.pool if self.shuffle else len(each)
        return like_length_batches(
            each, self.config.size, pool, self.seed, epoch, self.shuffle, (self.lengths,)
        )

    def collate(self, epoch: int, samples: Sequence[int]) -> UnderstandingBatch:
        return collate_readings([self.readings[int(sample)] for sample in samples], self.kind)


def collate_readings(readings: Sequence[EncodedExample], kind: Kind) -> UnderstandingBatch:
    """Readings as one packed batch."""
    sequences = [sequence for reading in readings for sequence in reading.sequences]
    firsts = [first for reading in readings for first in reading.first_lengths]
    lengths = np.array([len(sequence) for sequence in sequences])
    owners = np.repeat(np.arange(len(readings)), [len(reading.sequences) for reading in readings])
    tokens = np.fromiter((token for row in sequences for token in row), np.int64, lengths.sum())
    starts = np.cumsum(lengths) - lengths
    within = np.arange(len(tokens)) - np.repeat(starts, lengths)
    segments = (within >= np.repeat(firsts, lengths)).astype(np.int64)
    if kind in ("tagging", "span"):
        labels, places, place_owners = _places(readings, starts)
    else:
        kept = np.float32 if kind == "regression" else np.int64
        labels = np.array([reading.label for reading in readings]).astype(kept)
        places = place_owners = np.zeros(0, np.int64)
    return UnderstandingBatch(
        tokens=torch.from_numpy(tokens),
        segments=torch.from_numpy(segments),
        packing=Packing(torch.from_numpy(lengths), int(lengths.max()), len(tokens)),
        owners=torch.from_numpy(owners),
        size=len(readings),
        labels=torch.from_numpy(labels),
        places=torch.from_numpy(places),
        place_owners=torch.from_numpy(place_owners),
    )


def _places(
    readings: Sequence[EncodedExample], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What to find at each place, the places among all packed tokens, and their examples."""
    labels: list[int] = []
    places: list[int] = []
    owners: list[int] = []
    before = 0
    for owner, reading in enumerate(readings):
        found = reading.places or []
        places += [int(starts[before + row]) + place for row, place in found]
        labels += reading.labels if reading.labels is not None else [-1] * len(found)
        owners += [owner] * len(found)
        before += len(reading.sequences)
    return np.array(labels, np.int64), np.array(places, np.int64), np.array(owners, np.int64)
