"""Running text as parallel streams, for truncated backpropagation through time.

The text is laid out in B streams that are read side by side, a chunk of T tokens at a time: row b
of each batch goes on where row b of the batch before ended. So a model may carry its state from
batch to batch while gradients stop at the chunk's edge. A batch's samples stand in the order of
their streams; whoever takes every n-th of them always has the same streams.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.limits import WORKERS
from landmark.data.batch import TextBatch
from landmark.data.ordering import generator
from landmark.data.running_text.document import SIDE
from landmark.data.shards import TokenStore

_FEWEST_CHUNKS = 8  # of a stream


@settings
class StreamConfig:
    """Batches of running text."""

    streams: Annotated[int, Field(ge=1)] = 64
    """Batch size: streams read in parallel (recurrent) or windows (GPT). A short text has fewer
    streams.
    """
    length: Annotated[int, Field(ge=1)] = 64
    """Tokens per stream or window in a batch: the length of truncated backpropagation."""
    valid_streams: Annotated[int, Field(ge=1)] = 8
    """Validation batch size: streams or windows. Fewer streams lose less context at their
    beginnings.
    """
    workers: Annotated[int, Field(ge=0, le=WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""


class RunningText:
    """All tokens of a store as one sequence, wherever its pieces lie."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store
        self._ends = np.cumsum(store.lengths[SIDE])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Tokens `start` to `stop`."""
        parts = []
        piece = int(np.searchsorted(self._ends, start, side="right"))
        while start < stop:
            end = int(self._ends[piece])
            first = start - end + int(self.store.lengths[SIDE][piece])
            parts.append(self.store[SIDE, piece][first : first + stop - start])
            start, piece = end, piece + 1
        return np.concatenate(parts)


class StreamSamples:
    """Streams to train on: whole chunks, from another place of the text each epoch.

    Sample number n is chunk n // B of stream n % B.
    """

    def __init__(self, store: TokenStore, config: StreamConfig, seed: int) -> None:
        self.text, self.length, self.seed = RunningText(store), config.length, seed
        total = len(self.text) - 1  # of predictions: the first token is only read
        self.streams = _stream_count(config.streams, total, self.length)
        if total < self.length:
            raise ValueError(f"a text of {len(self.text)} tokens has no chunk of {self.length}")
        self.spacing = total // self.streams
        # One chunk less than would fit leaves room to begin anywhere within a chunk.
        self.chunks = max(1, (self.spacing - self.length + 1) // self.length)
        self.room = total - (self.streams - 1) * self.spacing - self.chunks * self.length

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """A batch is the n-th chunk of every stream."""
        return list(np.arange(self.chunks * self.streams).reshape(self.chunks, self.streams))

    def collate(self, epoch: int, samples: Sequence[int]) -> TextBatch:
        random = generator(self.seed, epoch, "offset")
        offset = int(random.integers(self.room, endpoint=True))
        chunk, streams = _chunk_and_streams(samples, self.streams)
        starts = [offset + stream * self.spacing + chunk * self.length for stream in streams]
        return _batch(self.text, starts, self.length, streams, begins=chunk == 0)


class HeldOutSamples:
    """Streams to validate on: the text in order, every token predicted once.

    What does not go evenly into streams is the first one's, in a batch of its own at the end: the
    first stream is the first process's, as the first sample of any batch is.
    """

    def __init__(self, store: TokenStore, config: StreamConfig) -> None:
        self.text, self.length = RunningText(store), config.length
        total = len(self.text) - 1  # of predictions: the first token is only read
        self.streams = _stream_count(config.valid_streams, total, self.length)
        self.each, self.rest = divmod(total, self.streams)
        self.chunks = -(-self.each // self.length)

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Chunks as in training, the last one shorter, and the first stream's rest."""
        whole = np.arange(self.chunks * self.streams).reshape(self.chunks, self.streams)
        return [*whole, np.array([whole.size])] if self.rest else list(whole)

    def collate(self, epoch: int, samples: Sequence[int]) -> TextBatch:
        chunk, streams = _chunk_and_streams(samples, self.streams)
        first = min(chunk * self.length, self.each)
        length = min(self.length, self.each - first) or self.rest
        starts = [stream * self.each + min(stream, 1) * self.rest + first for stream in streams]
        return _batch(self.text, starts, length, streams, begins=chunk == 0)


def _stream_count(wanted: int, total: int, length: int) -> int:
    """Fewer of a short text: a stream of few chunks would carry its state nowhere."""
    return max(1, min(wanted, total // (_FEWEST_CHUNKS * length)))


def _chunk_and_streams(samples: Sequence[int], count: int) -> tuple[int, tuple[int, ...]]:
    """The chunk that samples of one batch are, and their streams."""
    return int(samples[0]) // count, tuple(int(sample) % count for sample in samples)


def _batch(
    text: RunningText, starts: Sequence[int], length: int, streams: tuple[int, ...], begins: bool
) -> TextBatch:
    """A chunk of each stream, and each token's next one."""
    rows = np.stack([text.read(start, start + length + 1) for start in starts])
    tokens = torch.from_numpy(rows.astype(np.int64))
    return TextBatch(tokens[:, :-1], tokens[:, 1:], streams, begins)
