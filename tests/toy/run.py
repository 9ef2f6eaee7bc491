"""A training in the corridor: its configuration, and how it is put together."""

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any, Literal

import torch

from landmark.core.configuration import fingerprint, settings
from landmark.engine.assembly import Assembly
from landmark.engine.checkpoint import load_module, load_tensors
from landmark.engine.session import MODEL
from landmark.engine.trainer import Report
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.fine_tuning import INITIAL, Origin
from landmark.tasks.task import RunConfig, Task
from tests.engine.replay import ActorCritic, Games, ReplayBuffer


@settings
class CorridorData:
    """Where games are played."""

    start: float = 0.0
    """The place where the first game begins."""


@settings
class CorridorRun(RunConfig):
    """A complete training of an actor and a critic."""

    task: Literal["corridor"] = "corridor"
    data: CorridorData = dataclasses.field(default_factory=CorridorData)


def prepare(
    config: CorridorRun, folder: Path, report: Report, origin: Origin | None = None
) -> CorridorRun:
    """Games are played while it trains: there is nothing to prepare but what it begins with."""
    if origin:
        weights = {f"actor.{n}": t for n, t in origin.weights("actor").items()}
        weights |= {f"critic.{n}": t for n, t in origin.weights("critic").items()}
        origin.save(folder, weights)
    report({"kind": "data", "summary": f"games begin at {config.data.start}"})
    return config


def assemble(config: CorridorRun, folder: Path, device: torch.device) -> Assembly:
    """Players, optimisers, the games they learn from, and the games they are judged by."""
    objective = ActorCritic()
    if config.init_from:
        _begin_from(objective, folder / INITIAL)
    source = ReplayBuffer(objective.actor, config.trainer.accumulate)
    source.place = torch.tensor([config.data.start])
    if killed_at := int(os.environ.get("TOY_KILLED_AT", "0")):
        _kill_at(objective, killed_at)
    evaluator = Games(objective.actor)
    return Assembly(objective, optimizers_for(config, objective), source, evaluator=evaluator)


@torch.no_grad()
def _begin_from(objective: ActorCritic, checkpoint: Path) -> None:
    """Take up the weights of the run that init_from names."""
    saved = load_tensors(checkpoint, MODEL)
    for name, player in objective.players.items():
        own = {n: saved[f"{name}.{n}"] for n in player.state_dict()}
        load_module(player, own, checkpoint)


def _kill_at(objective: ActorCritic, step: int) -> None:
    """End this process in the middle of a step, as a power cut would."""
    batches = [0]

    def count(critic: Any, inputs: Any) -> None:
        batches[0] += 1
        if batches[0] == 2 * step:  # the critic is asked twice a step
            os.kill(os.getpid(), signal.SIGKILL)

    objective.critic.register_forward_pre_hook(count)


TASK = Task(
    "corridor",
    CorridorRun,
    lambda config: fingerprint(dataclasses.asdict(config.data)),
    prepare,
    assemble,
    prepared=(INITIAL,),
)
