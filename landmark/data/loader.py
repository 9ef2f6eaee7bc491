"""An endless, resumable stream of batches, cut into parts for accumulation and for processes.

The order is a function of (seed, epoch) alone, so every worker, rank and resumed run agrees on it
with no saved state but the place (epoch, batch). One batch is one update whatever the layout: with
P parts (accumulation x processes), part p takes samples p, p+P, p+2P … of it.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from landmark.core.errors import UserError
from landmark.core.signals import follow_parent
from landmark.data.batch import Batch


class Place(NamedTuple):
    """Which batch of which epoch comes next."""

    epoch: int = 0
    batch: int = 0


class Samples(Protocol):
    """A data set that knows how to order itself for an epoch and to make batches."""

    def plan(self, epoch: int) -> Sequence[Any]:
        """Sample numbers of each batch of the epoch: every sample exactly once."""

    def collate(self, epoch: int, samples: Any) -> Batch:
        """These samples as one batch."""


class Loader:
    """Batches of a data set for one process of possibly many: a source whose plan is finite."""

    def __init__(
        self,
        samples: Samples,
        *,
        accumulate: int = 1,
        rank: int = 0,
        world_size: int = 1,
        workers: int = 0,
    ) -> None:
        self.samples, self.workers = samples, workers
        self.accumulate, self.rank, self.world_size = accumulate, rank, world_size
        self.plan = lru_cache(maxsize=2)(samples.plan)

    def stream(self, start: Place) -> Generator[list[Any], None, None]:
        """From `start` on, for ever: this process's parts of each batch. Closing ends workers."""
        yield from self._read(self.accumulate, _Order(self, start))

    def batches_per_epoch(self) -> int:
        """How many batches are one pass over the data."""
        return len(self.plan(0))

    def state_dict(self) -> dict[str, Tensor]:
        """Nothing: the order follows from the seed and the place alone."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state_dict` gave."""
        if state:
            raise ValueError(f"a data set carries no state, but some was saved: {sorted(state)}")

    def once(self) -> Iterator[Any]:
        """This process's share of one pass, for validation."""
        order = [(0, index, chosen) for index, chosen in enumerate(self.plan(0))]
        for (part,) in self._read(1, order):
            yield part

    def _read(
        self, accumulate: int, order: Iterable[tuple[int, int, Sequence[int]]]
    ) -> Generator[list[Any], None, None]:
        """This process's parts of the batches in that order, by the workers if there are any."""
        batches = iter(
            DataLoader(
                _Cutter(self.samples, accumulate, self.rank, self.world_size),
                sampler=order,
                batch_size=None,
                num_workers=self.workers,
                worker_init_fn=follow_parent,
                generator=torch.Generator(),
            )
        )
        try:
            for parts in batches:
                if isinstance(parts, UserError):
                    raise parts
                yield parts
        finally:
            del batches  # which tells the workers to end, and waits for them


class _Order(Sampler[tuple[int, int, Sequence[int]]]):
    """The sample numbers of each batch from a place on, epoch after epoch."""

    def __init__(self, loader: Loader, start: Place) -> None:
        self.loader, self.start = loader, start

    def __iter__(self) -> Iterator[tuple[int, int, Sequence[int]]]:
        epoch, first = self.start
        while True:
            plan = self.loader.plan(epoch)
            for index in range(first, len(plan)):
                yield epoch, index, plan[index]
            epoch, first = epoch + 1, 0


class _Cutter(Dataset[Any]):
    """Cuts a batch's samples into this rank's parts; runs in the worker processes."""

    def __init__(self, samples: Samples, accumulate: int, rank: int, world_size: int) -> None:
        self.samples = samples
        self.total = accumulate * world_size
        self.mine = range(rank * accumulate, (rank + 1) * accumulate)

    def __getitem__(self, key: tuple[int, int, Sequence[int]]) -> list[Batch] | UserError:
        """The parts, or why there are none: raised here, a worker's traceback would come along."""
        try:
            return self._parts(*key)
        except UserError as error:
            return error

    def _parts(self, epoch: int, index: int, chosen: Sequence[int]) -> list[Batch]:
        parts = []
        for part in self.mine:
            share = chosen[part :: self.total]
            counts = len(share) > 0
            if not counts:  # fewer samples than parts: stand in, so that ranks stay in step
                share = chosen[:1]
            parts.append(_located(self.samples.collate(epoch, share), epoch, index, share, counts))
        return parts


def _located(batch: Any, epoch: int, index: int, samples: Sequence[int], counts: bool) -> Any:
    batch.epoch, batch.index, batch.counts = epoch, index, counts
    batch.samples = tuple(int(sample) for sample in samples)
    return batch
