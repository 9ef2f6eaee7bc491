"""The configuration of a network of Go, whatever it learns by; readable without numba."""

import dataclasses
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import default_key, settings
from landmark.go.self_play_settings import SelfPlaySettings
from landmark.models.go.alphago import AlphagoPolicyConfig, AlphagoValueConfig
from landmark.models.go.residual import GoResNetConfig
from landmark.objectives.policy_value import PolicyValueConfig
from landmark.tasks.task import RunConfig


@settings
class GoDataConfig:
    """Games to learn from."""

    games: tuple[Path, ...] = ()
    """SGF files, or folders of them; none: the expert games of 9x9 that come with Landmark."""
    size: Annotated[int, Field(ge=2, le=19)] = 9
    """Board size; games of other sizes are left out."""
    komi: float = 7.0
    """Komi, which all games must have."""
    one_per_game: bool = False
    """Learn from one position of each game, drawn at random (the paper's value network)."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Number of positions to learn from, from the first games on; null: all."""
    strict: bool = False
    """Stop at the first game that cannot be used."""


@settings
class GoBatchConfig:
    """Batches of positions."""

    size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 256
    """Batch size in positions."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that make batches; 0: make them in the main process."""


@settings
class SupervisedConfig:
    """Learning from games that others have played."""

    method: Literal["supervised"] = "supervised"
    """How the network learns: supervised, reinforce or self-play."""


@settings
class ReinforceConfig:
    """Learning by games against a pool of earlier versions."""

    method: Literal["reinforce"] = "reinforce"
    """How the network learns: supervised, reinforce or self-play."""
    games: Annotated[int, Field(ge=2, le=limits.BATCH)] = 64
    """Games of each update (paper: 128)."""
    pool_every: Annotated[int, Field(ge=1)] = 20
    """Updates after which the present weights join the pool of opponents (paper: 500)."""
    baseline: bool = True
    """Subtract what the value head expects from the result, if the network has one."""
    evaluation_games: Annotated[int, Field(ge=2, le=limits.BATCH)] = 200
    """Games against the weights at the beginning, at each validation."""


@settings
class SelfPlayConfig:
    """Learning from games against itself, improved by search."""

    method: Literal["self-play"] = "self-play"
    """How the network learns: supervised, reinforce or self-play."""
    games: Annotated[int, Field(ge=1, le=1_000_000)] = 128
    """Games of each generation."""
    files: Annotated[int, Field(ge=1, le=10_000)] = 2
    """Files that they are played in, each by one process."""
    updates: Annotated[int, Field(ge=1)] = 100
    """Updates of each generation."""
    window: Annotated[int, Field(ge=1)] = 8
    """Generations whose games are learnt from, this one included."""
    expert_share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of each batch that is positions of the expert games, which keeps what was learnt from
    them; 0: games against itself only. Not used from random weights."""
    processes: Annotated[int, Field(ge=0, le=limits.WORKERS)] | None = None
    """Processes that play, one thread each; null: one for each core; 0: play in the main process.
    Games do not depend on it.
    """
    play: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    evaluation_games: Annotated[int, Field(ge=2, le=limits.BATCH)] = 200
    """Games against the weights at the beginning, at each validation, both without search."""


@settings
class GoRun(RunConfig):
    """A complete training of a network of Go."""

    task: Literal["go"] = "go"
    data: GoDataConfig = dataclasses.field(default_factory=GoDataConfig)
    model: Annotated[
        GoResNetConfig | AlphagoPolicyConfig | AlphagoValueConfig,
        Field(discriminator="architecture"),
        default_key("architecture", "residual"),
    ] = dataclasses.field(default_factory=GoResNetConfig)
    learning: Annotated[
        SupervisedConfig | ReinforceConfig | SelfPlayConfig,
        Field(discriminator="method"),
        default_key("method", "supervised"),
    ] = dataclasses.field(default_factory=SupervisedConfig)
    objective: PolicyValueConfig = dataclasses.field(default_factory=PolicyValueConfig)
    batches: GoBatchConfig = dataclasses.field(default_factory=GoBatchConfig)

    @model_validator(mode="after")
    def _goes_together(self) -> "GoRun":
        if self.schedule.name == "noam":
            raise ValueError("schedule.name: noam is made for Transformers of text: take cosine")
        if self.trainer.sharded:
            raise ValueError("trainer.sharded: batch norms are not cut into shards: leave it out")
        if self.learning.method != "supervised" and self.model.architecture == "alphago-value":
            raise ValueError(f"learning.method={self.learning.method}: needs a policy to play with")
        if self.learning.method == "self-play" and self.model.architecture != "residual":
            raise ValueError(
                "learning.method=self-play: needs a network that judges moves and results: set "
                "model.architecture=residual"
            )
        return self
