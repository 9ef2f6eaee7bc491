import os
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.batch import AdversarialBatch
from landmark.data.loader import Loader, Place

SIZES = [5, 1, 7, 3, 2]  # of an epoch's batches


class Numbers:
    """18 samples; a sample's point is its number, its noise the epoch."""

    def plan(self, epoch: int) -> list[np.ndarray]:
        order = np.random.default_rng(epoch).permutation(sum(SIZES))
        return np.split(order, np.cumsum(SIZES)[:-1])

    def collate(self, epoch: int, samples: Sequence[int]) -> AdversarialBatch:
        points = torch.tensor([[float(sample)] for sample in samples])
        return AdversarialBatch(real=points, noise=torch.full_like(points, float(epoch)))


def content(parts: list[AdversarialBatch]) -> list[tuple[int, int, bool, list[float], list[float]]]:
    for part in parts:
        assert part.real.flatten().tolist() == list(part.samples)
    return [
        (part.epoch, part.index, part.counts, part.real.flatten().tolist(),
         part.noise.flatten().tolist())
        for part in parts
    ]  # fmt: skip


def first(loader: Loader, count: int, place: Place = Place()):  # noqa: B008
    return [content(parts) for parts in islice(loader.stream(place), count)]


def test_epochs_follow_the_plan_one_after_another() -> None:
    seen = first(Loader(Numbers()), 12)
    expected = [
        (epoch, index, batch.tolist())
        for epoch in range(3)
        for index, batch in enumerate(Numbers().plan(epoch))
    ]
    assert [parts[0][:2] for parts in seen] == [(e, i) for e, i, _ in expected[:12]]
    assert [parts[0][3] for parts in seen] == [samples for *_, samples in expected[:12]]
    assert all(set(parts[0][4]) == {parts[0][0]} for parts in seen)  # collate knows the epoch
    assert all(len(parts) == 1 for parts in seen)


@pytest.mark.parametrize(
    ("accumulate", "world_size"), [(1, 1), (3, 1), (1, 3), (2, 2), (4, 2), (1, 8)]
)
def test_the_parts_of_all_ranks_are_the_batch_without_loss_or_repetition(
    accumulate: int, world_size: int
) -> None:
    ranks = [
        first(Loader(Numbers(), accumulate=accumulate, rank=rank, world_size=world_size), 8)
        for rank in range(world_size)
    ]
    total = accumulate * world_size
    batches = [batch.tolist() for epoch in range(2) for batch in Numbers().plan(epoch)][:8]
    for number, batch in enumerate(batches):
        parts = [part for rank in ranks for part in rank[number]]
        assert len(parts) == total
        counted = [samples for *_, counts, samples, _ in parts if counts]
        assert Counter(x for samples in counted for x in samples) == Counter(batch)
        # Part p of P takes samples p, p + P, …, whichever rank it falls to.
        assert counted == [batch[p::total] for p in range(min(total, len(batch)))]
        stand_ins = [samples for *_, counts, samples, _ in parts if not counts]
        assert len(stand_ins) == max(0, total - len(batch))
        assert all(len(samples) == 1 and samples[0] in batch for samples in stand_ins)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("place", [(0, 0), (0, 3), (0, 5), (1, 0), (1, 4), (4, 2)])
def test_a_stream_resumed_anywhere_gives_the_same_next_batches(
    place: tuple[int, int], workers: int
) -> None:
    whole = [batch for batch in first(Loader(Numbers(), accumulate=2), 35) if batch[0][:2] >= place]
    resumed = first(Loader(Numbers(), accumulate=2, workers=workers), 7, Place(*place))
    assert resumed == whole[:7]


def test_the_place_after_the_last_batch_is_the_next_epoch() -> None:
    assert first(Loader(Numbers()), 1, Place(0, len(SIZES))) == first(
        Loader(Numbers()), 1, Place(1, 0)
    )


def test_reading_leaves_the_global_random_state_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    first(Loader(Numbers()), 7)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("world_size", [1, 2, 3, 9])
def test_one_pass_shared_over_ranks_covers_everything_once(world_size: int) -> None:
    seen = Counter()
    for rank in range(world_size):
        loader = Loader(Numbers(), accumulate=2, rank=rank, world_size=world_size)
        parts = list(loader.once())
        assert [part.index for part in parts] == list(range(len(SIZES)))  # no rank is left out
        for part in parts:
            batch = Numbers().plan(0)[part.index].tolist()
            assert part.counts == bool(batch[rank::world_size])
            if part.counts:
                seen.update(part.real.flatten().tolist())
                assert list(part.samples) == batch[rank::world_size]
    assert seen == Counter(range(sum(SIZES)))


def test_the_plan_of_an_epoch_is_made_once() -> None:
    made = []

    class Watched(Numbers):
        def plan(self, epoch: int) -> list[np.ndarray]:
            made.append(epoch)
            return super().plan(epoch)

    loader = Loader(Watched())
    first(loader, 7)
    list(loader.once())
    assert made == [0, 1]


class Placed(Numbers):
    """The noise of a sample is the process that made its batch."""

    def collate(self, epoch: int, samples: Sequence[int]) -> AdversarialBatch:
        batch = super().collate(epoch, samples)
        batch.noise.fill_(float(os.getpid()))
        return batch


@pytest.mark.parametrize("world_size", [1, 2])
def test_one_pass_is_the_same_with_workers_which_make_its_batches(world_size: int) -> None:
    for rank in range(world_size):
        ranks = {"rank": rank, "world_size": world_size}
        alone = list(Loader(Placed(), **ranks).once())
        helped = list(Loader(Placed(), workers=2, **ranks).once())
        assert [part.samples for part in helped] == [part.samples for part in alone]
        assert [part.counts for part in helped] == [part.counts for part in alone]
        made_by = {number for part in helped for number in part.noise.flatten().tolist()}
        assert len(made_by) == 2
        assert float(os.getpid()) not in made_by


def test_a_mistake_in_a_worker_of_a_pass_is_one_line() -> None:
    class Broken(Numbers):
        def collate(self, epoch: int, samples: Sequence[int]) -> AdversarialBatch:
            raise UserError("3.jpg: is damaged")

    with pytest.raises(UserError, match=r"^3\.jpg: is damaged$"):
        list(Loader(Broken(), workers=1).once())
