"""One model that learns from one data set: how most trainings are put together."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from landmark.core.turn import Objective
from landmark.data.loader import Loader, Samples
from landmark.engine import distributed
from landmark.optim.optimizer import ScheduledOptimizer
from landmark.optim.schedule import learning_rate
from landmark.recipes.catalog import Assembly


def assemble_one(
    config: Any,
    model: nn.Module,
    objective: Objective,
    training: Samples,
    validation: Samples,
    share: Callable[[str], float] = lambda name: 1.0,
) -> Assembly:
    """The objective's one player with its optimiser, and this process's share of the data.

    config: a RunConfig that has a `model`, with a hidden_size if its schedule wants one, and
    `batches` with workers.
    """
    schedule = partial(
        learning_rate,
        config.schedule,
        hidden_size=getattr(config.model, "hidden_size", 1),
        max_steps=config.trainer.max_steps,
    )
    ranks = {"rank": distributed.rank(), "world_size": distributed.world_size()}
    accumulate, workers = config.trainer.accumulate, config.batches.workers
    return Assembly(
        objective=objective,
        optimizers={"model": ScheduledOptimizer(model, config.optimizer, schedule, share)},
        loader=Loader(training, accumulate=accumulate, workers=workers, **ranks),
        validation=Loader(validation, **ranks),
    )
