"""Assembly of a training: one optimizer per player, one model on one data set."""

from collections.abc import Mapping
from typing import Any

from landmark.core.errors import UserError
from landmark.core.turn import Objective
from landmark.data.loader import Loader, Samples
from landmark.engine import distributed
from landmark.engine.assembly import Assembly
from landmark.optim.optimizer import ScheduledOptimizer, Share
from landmark.optim.schedule import build_plateau, build_schedule
from landmark.tasks.task import RunConfig


def optimizers_for(
    config: RunConfig, objective: Objective, shares: Mapping[str, Share] | None = None
) -> dict[str, ScheduledOptimizer]:
    """An optimiser for each of the objective's players, with the settings that hold for it.

    shares: for single players, the part of the learning rate that each parameter takes.
    """
    players = objective.players
    for key, named in (("optimizers", config.optimizers), ("schedules", config.schedules)):
        for player in named:
            if player not in players:
                raise UserError(f"{key}.{player}: unknown player: choose from {', '.join(players)}")
    hidden_size = getattr(getattr(config, "model", None), "hidden_size", None)
    built = {}
    for player, module in players.items():
        schedule = config.schedule_of(player)
        rate = build_schedule(schedule, config.trainer.max_steps, hidden_size)
        share = (shares or {}).get(player, lambda name: 1.0)
        built[player] = ScheduledOptimizer(
            module, config.optimizer_of(player), rate, share, plateau=build_plateau(schedule)
        )
    return built


def assemble_one(
    config: Any,
    objective: Objective,
    training: Samples,
    validation: Samples,
    share: Share = lambda name: 1.0,
) -> Assembly:
    """The objective's one player, `model`, and this process's share of the data.

    config: a RunConfig that has a `model`, with a hidden_size if its schedule wants one, and
    `batches` with workers.
    """
    ranks = {"rank": distributed.rank(), "world_size": distributed.world_size()}
    accumulate, workers = config.trainer.accumulate, config.batches.workers
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective, {"model": share}),
        source=Loader(training, accumulate=accumulate, workers=workers, **ranks),
        validation=Loader(validation, workers=workers, **ranks),
    )
