"""The order of an epoch, and batches cut from it: a function of (seed, epoch) alone."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from landmark.core.runtime import derive_seed

Plan = list[NDArray[np.int64]]
"""The sample numbers of each batch of an epoch."""


def even_batches(count: int, size: int, seed: int, epoch: int, shuffle: bool) -> Plan:
    """Batches of `size` samples at the most, which differ by one at most."""
    order = np.arange(count)
    if shuffle:
        order = generator(seed, epoch).permutation(count)
    return np.array_split(order, math.ceil(count / size))


def balanced_order(labels: NDArray[np.int64], seed: int, epoch: int) -> NDArray[np.int64]:
    """As many images as there are, every class as often as the others, in random order.

    All images of a class come before one of them comes again: then it has its number plus that of
    all images, the third time twice that, and so on.
    """
    random, count = generator(seed, epoch), len(labels)
    classes = random.permutation(np.unique(labels))
    chosen = []
    for place, label in enumerate(classes):
        members = np.flatnonzero(labels == label)
        wanted = count // len(classes) + (place < count % len(classes))
        rounds = [
            random.permutation(members) + again * count
            for again in range(-(-wanted // len(members)))
        ]
        chosen.append(np.concatenate(rounds)[:wanted])
    order: NDArray[np.int64] = random.permutation(np.concatenate(chosen))
    return order


def like_length_batches(
    cost: NDArray[np.int64],
    budget: int,
    pool: int,
    seed: int,
    epoch: int,
    shuffle: bool,
    sort_by: Sequence[NDArray[np.int64]] = (),
) -> Plan:
    """Shuffle, sort pools of `pool` batches by length, cut by the budget, shuffle the batches.

    `sort_by`: keys as `np.lexsort` takes them, the last one first; none: the cost.
    """
    random = generator(seed, epoch)
    order = random.permutation(len(cost)) if shuffle else np.arange(len(cost))
    batches: Plan = []
    for pooled in cut_by_budget(order, cost, pool * budget):
        by_length = pooled[np.lexsort([key[pooled] for key in sort_by or (cost,)])]
        batches += cut_by_budget(by_length, cost, budget)
    if shuffle:
        batches = [batches[number] for number in random.permutation(len(batches))]
    return batches


def cut_by_budget(order: NDArray[np.int64], cost: NDArray[np.int64], budget: int) -> Plan:
    """Cut an order into runs whose cost is within the budget (a dearer one stands alone)."""
    total = np.cumsum(cost[order])
    cuts = [0]
    while cuts[-1] < len(order):
        spent = total[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(total, spent + budget, side="right"))))
    return [order[start:stop] for start, stop in pairwise(cuts)]


def generator(seed: int, epoch: int, purpose: str = "order") -> np.random.Generator:
    """Random numbers for the order of an epoch."""
    return np.random.default_rng(derive_seed(seed, purpose, epoch))
