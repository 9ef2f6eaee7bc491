"""Held-out samples: the same ones every time."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from landmark.core.runtime import derive_seed

Item = TypeVar("Item")


def draw(among: int, count: int, *key: str) -> NDArray[np.int64]:
    """`count` of the numbers below `among`, in random order; `key` says for which purpose."""
    return np.random.default_rng(derive_seed(*key)).permutation(among)[:count]


def draw_of_each_class(
    labels: NDArray[np.int64], num_classes: int, share: float, *key: str
) -> NDArray[np.int64]:
    """About the same share of each class, but never all of it."""
    random = np.random.default_rng(derive_seed(*key))
    found = []
    for label in range(num_classes):
        members = random.permutation(np.flatnonzero(labels == label))
        found.append(members[: min(round(share * len(members)), len(members) - 1)])
    return np.concatenate(found)


def split(
    items: Sequence[Item], held_out: Sequence[int] | NDArray[np.int64]
) -> tuple[list[Item], list[Item]]:
    """The items to train on, and those to hold out, in the order of their numbers."""
    numbers = [int(number) for number in held_out]
    chosen = set(numbers)
    kept = [item for number, item in enumerate(items) if number not in chosen]
    return kept, [items[number] for number in numbers]


def every_nth(count: int, wanted: int) -> int:
    """The n to hold out every n-th of `count` by: `wanted` of them, but at most a tenth."""
    return max(min(10, count), count // wanted)


def before_last_share(total: int, share: float) -> int:
    """Where the last share of a text begins."""
    return int(total * (1 - share))


def before_last_documents(sizes: Sequence[int], share: float) -> int:
    """How many documents stand before the last ones that have the share; at least one does."""
    wanted, held_out, count = sum(sizes) * share, 0, 0
    while held_out < wanted and count < len(sizes) - 1:
        count += 1
        held_out += sizes[-count]
    return len(sizes) - count
