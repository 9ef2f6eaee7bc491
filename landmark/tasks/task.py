"""The contract between a task and the training of it: configuration, preparation, assembly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import Provenance, Settings, as_values, build, settings
from landmark.core.model_size import SizeLimit
from landmark.engine.assembly import Assembly as Assembly
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Report
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.card import CARDS, resolve
from landmark.tasks.fine_tuning import Origin


@settings
class RunConfig:
    """Settings that every task has."""

    task: str
    """Task of the run; fixed by the recipe."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Random seed of the initial weights, the data order and all other random numbers."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator if there is one."""
    threads: Annotated[int, Field(ge=1, le=limits.THREADS)] | None = None
    """Number of CPU threads; null: torch's default. Results are bit-identical only with the same
    number.
    """
    init_from: str | None = None
    """Fine-tuning: run directory to take the weights, model shape and vocabulary from."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    optimizers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Optimizer settings for single players, as {generator: {betas: [0.5, 0.9]}}; the rest as in
    `optimizer`.
    """
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Schedule settings for single players, as {discriminator: {rate: 0.0004}}; the rest as in
    `schedule`.
    """
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    @model_validator(mode="after")
    def _players_settings_are_valid(self) -> "RunConfig":
        for player in self.optimizers:
            self.optimizer_of(player)
        for player in self.schedules:
            self.schedule_of(player)
        return self

    def optimizer_of(self, player: str) -> OptimizerConfig:
        """The settings of one player's optimiser."""
        return _changed(self.optimizer, self.optimizers, player, "optimizers")

    def schedule_of(self, player: str) -> ScheduleConfig:
        """The settings of one player's schedule."""
        return _changed(self.schedule, self.schedules, player, "schedules")


def _changed(
    common: Settings, changes: Mapping[str, Mapping[str, Any]], player: str, key: str
) -> Settings:
    """What all players have in common, with one player's changes."""
    if player not in changes:
        return common
    values = {**as_values(common), **changes[player]}
    return build(type(common), values, Provenance(f"{key}.{player}"))


@dataclass(frozen=True)
class Task:
    """How a configuration of one kind becomes a training."""

    name: str
    config: type[Any]
    data_digest: Callable[[Any], str]
    """A digest of the data a configuration names: with the recipe, a run's identity."""
    prepare: Callable[[Any, Path, Report, Origin | None], Any]
    """Fill a run folder with what training needs; returns the resolved configuration.

    With the run to begin from, if init_from names one (see Card.begins_from).
    """
    assemble: Callable[[Any, Path, torch.device], Assembly]
    prepared: tuple[str, ...] = ()
    """The names of all that `prepare` puts into a run folder."""
    assets: tuple[str, ...] = ()
    """Those of them that using the model depends on; the recipe keeps their digests."""
    resolved: tuple[str, ...] = ()
    """Settings that `prepare` fits to the data: a run goes on with them unless they are named."""

    def assembled(self, config: Any, folder: Path, device: torch.device) -> Assembly:
        """The parts of a training, unless its weights and their gradients exceed the memory."""
        with SizeLimit(f"training the model of {folder}", copies=2):
            return self.assemble(config, folder, device)


def task_named(name: str) -> Task:
    """How a configuration of that task becomes a training."""
    found: Task = resolve(CARDS[name].task)
    return found
