"""GPT's training data: windows of running text in random order.

A window is cut from the text wherever it falls, so that none of it is wasted. Where documents are
kept apart, each begins with the end-of-text token, and a window that holds several is packed as so
many passages: no token looks back into another document, and positions begin anew.
"""

from collections.abc import Sequence

import numpy as np
import torch

from landmark.data.batch import PassageBatch
from landmark.data.ordering import Plan, cut_by_budget, generator
from landmark.data.running_text.stream import RunningText, StreamConfig
from landmark.data.shards import TokenStore
from landmark.layers.packing import Packing


class WindowSamples:
    """Windows to train on: side by side, from another place of the text each epoch, shuffled."""

    def __init__(
        self, store: TokenStore, config: StreamConfig, seed: int, beginning: int | None = None
    ) -> None:
        """`beginning`: the token that each document begins with, if they are kept apart."""
        self.text, self.length, self.seed = RunningText(store), config.length, seed
        self.beginning = beginning
        total = len(self.text) - 1  # of predictions: the first token is only read
        if total < self.length:
            raise ValueError(f"a text of {len(self.text)} tokens has no window of {self.length}")
        # One window less than would fit leaves room to begin anywhere within a window.
        self.windows = max(1, (total - self.length + 1) // self.length)
        self.room = total - self.windows * self.length
        self.together = min(config.streams, self.windows)

    def plan(self, epoch: int) -> Plan:
        """All windows, shuffled; what does not fill a last batch waits for another epoch."""
        shuffled = generator(self.seed, epoch, "windows").permutation(self.windows)
        whole = self.windows - self.windows % self.together
        return list(shuffled[:whole].reshape(-1, self.together))

    def collate(self, epoch: int, samples: Sequence[int]) -> PassageBatch:
        random = generator(self.seed, epoch, "offset")
        offset = int(random.integers(min(self.room, self.length - 1), endpoint=True))
        starts = [offset + int(sample) * self.length for sample in samples]
        return _batch(self.text, starts, self.length, self.beginning)


class HeldOutWindows:
    """Windows to validate on: the text in order, every token predicted once."""

    def __init__(
        self, store: TokenStore, config: StreamConfig, beginning: int | None = None
    ) -> None:
        self.text, self.length, self.beginning = RunningText(store), config.length, beginning
        self.total = len(self.text) - 1
        self.together = config.valid_streams

    def plan(self, epoch: int) -> Plan:
        """Whole windows, and the shorter rest in a batch of its own."""
        whole, rest = divmod(self.total, self.length)
        batches = cut_by_budget(np.arange(whole), np.ones(whole, np.int64), self.together)
        return [*batches, *([np.array([whole])] if rest else [])]

    def collate(self, epoch: int, samples: Sequence[int]) -> PassageBatch:
        starts = [int(sample) * self.length for sample in samples]
        length = min(self.length, self.total - starts[-1])
        return _batch(self.text, starts, length, self.beginning)


def _batch(
    text: RunningText, starts: Sequence[int], length: int, beginning: int | None
) -> PassageBatch:
    """A window from each start, and each token's next one."""
    rows = np.stack([text.read(start, start + length + 1) for start in starts])
    tokens = torch.from_numpy(rows.astype(np.int64))
    packing = Packing.full(len(starts), length)
    if beginning is not None:
        packing = _passages(tokens[:, :-1], beginning)
    return PassageBatch(tokens[:, :-1].flatten(), tokens[:, 1:].flatten(), packing)


def _passages(windows: torch.Tensor, beginning: int) -> Packing:
    """A passage begins with each window and with each document. (B, T)"""
    begins = windows == beginning
    begins[:, 0] = True
    edges = begins.flatten().nonzero()[:, 0]
    after = torch.cat((edges[1:], edges.new_tensor([windows.numel()])))
    return Packing(after - edges)
