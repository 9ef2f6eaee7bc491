"""Validation: one pass over held-out batches, summed over all processes."""

import torch

from landmark.core.runtime import Precision, autocast
from landmark.core.turn import Objective
from landmark.data.loader import Loader
from landmark.engine.distributed import sum_over_ranks


def evaluate(
    objective: Objective, loader: Loader, device: torch.device, precision: Precision
) -> dict[str, float]:
    """The mean of each of the objective's metrics."""
    were_training = {name: player.training for name, player in objective.players.items()}
    for player in objective.players.values():
        player.eval()
    sums: dict[str, list[float]] = {}
    for batch in loader.once():
        with autocast(device, precision):
            measured = objective.measure(batch.to(device))
        for name, (value, weight) in measured.items():
            total = sums.setdefault(name, [0.0, 0.0])
            if batch.counts:  # a stand-in only says which metrics there are
                total[0] += value
                total[1] += weight
    for name, player in objective.players.items():
        player.train(were_training[name])
    return _means(sums, device)


def _means(sums: dict[str, list[float]], device: torch.device) -> dict[str, float]:
    names = sorted(sums)
    flat = sum_over_ranks([number for name in names for number in sums[name]], device)
    return {name: flat[2 * i] / flat[2 * i + 1] for i, name in enumerate(names)}
