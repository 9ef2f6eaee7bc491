"""Validation: one pass over held-out batches, summed over all processes."""

from collections.abc import Callable

import torch

from landmark.core.runtime import Precision, autocast
from landmark.core.turn import Objective
from landmark.data.loader import Loader
from landmark.engine import sharding
from landmark.engine.distributed import sum_over_ranks


def evaluate(
    objective: Objective,
    loader: Loader,
    device: torch.device,
    precision: Precision,
    stopping: Callable[[], object] = lambda: False,
) -> dict[str, float] | None:
    """The mean of each of the objective's metrics; None if it was stopped on the way."""
    players = objective.players
    were_training = {name: player.training for name, player in players.items()}
    sharding.scatter(players.values())  # the weights may be others than a moment ago: averages
    try:
        for player in players.values():
            player.eval()
        return _measure_all(objective, loader, device, precision, stopping)
    finally:
        for name, player in players.items():
            player.train(were_training[name])
        sharding.scatter(players.values())


def _measure_all(
    objective: Objective,
    loader: Loader,
    device: torch.device,
    precision: Precision,
    stopping: Callable[[], object],
) -> dict[str, float] | None:
    sums: dict[str, list[float]] = {}
    for batch in loader.once():
        if stopping():
            return None
        sharding.gather(objective.players.values())
        with autocast(device, precision):
            measured = objective.measure(batch.to(device))
        for name, (value, weight) in measured.items():
            total = sums.setdefault(name, [0.0, 0.0])
            if batch.counts:  # a stand-in only says which metrics there are
                total[0] += value
                total[1] += weight
    return objective.summarize(_means(sums, device))


def _means(sums: dict[str, list[float]], device: torch.device) -> dict[str, float]:
    names = sorted(sums)
    flat = sum_over_ranks([number for name in names for number in sums[name]], device)
    return {name: flat[2 * i] / flat[2 * i + 1] for i, name in enumerate(names)}
