"""Validation: means over held-out batches, of all processes, and the scores of an evaluator."""

from collections.abc import Callable, Mapping

import torch

from landmark.core.errors import TrainingError
from landmark.core.runtime import Precision, autocast
from landmark.core.turn import Objective
from landmark.data.loader import Loader
from landmark.engine import distributed, sharding
from landmark.engine.assembly import Stopping
from landmark.engine.interruption import InterruptedTraining


def evaluate(
    objective: Objective,
    loader: Loader | None,
    device: torch.device,
    precision: Precision,
    stopping: Stopping = lambda: False,
    evaluator: Callable[[Stopping], Mapping[str, float] | None] | None = None,
) -> dict[str, float] | None:
    """The mean of each of the objective's metrics, and what the evaluator finds.

    None if it was stopped on the way.
    """
    players = objective.players
    were_training = {name: player.training for name, player in players.items()}
    sharding.scatter(players.values())  # the weights may be others than a moment ago: averages
    try:
        for player in players.values():
            player.eval()
        means = _measure_all(objective, loader, device, precision, stopping) if loader else {}
        if means is None or evaluator is None:
            return means
        sharding.gather(players.values())
        return _with_scores(means, evaluator, device, stopping)
    finally:
        for name, player in players.items():
            player.train(were_training[name])
        sharding.scatter(players.values())


def _measure_all(
    objective: Objective,
    loader: Loader,
    device: torch.device,
    precision: Precision,
    stopping: Stopping,
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
    flat = distributed.sum_over_ranks([number for name in names for number in sums[name]], device)
    return {name: flat[2 * i] / flat[2 * i + 1] for i, name in enumerate(names)}


def _with_scores(
    means: Mapping[str, float],
    evaluator: Callable[[Stopping], Mapping[str, float] | None],
    device: torch.device,
    stopping: Stopping,
) -> dict[str, float] | None:
    """The means and the evaluator's numbers, which are the first process's; None if stopped."""
    try:
        scores = evaluator(stopping)
    except InterruptedTraining:  # that of a training inside the evaluator: ours stops as well
        if not stopping():
            raise
        return None
    if scores is None:
        return None
    if twice := sorted(means.keys() & scores.keys()):
        raise TrainingError(f"the evaluator's {twice[0]!r} is also a metric of the objective")
    names = sorted(scores)
    own = [float(scores[name]) if distributed.is_main() else 0.0 for name in names]
    return {**means, **dict(zip(names, distributed.sum_over_ranks(own, device), strict=True))}
