"""The settings of a training that every system shares."""

import dataclasses
import math
from typing import Annotated

from pydantic import Field, model_validator

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.runtime import Precision


@settings
class TrainerConfig:
    """How long, how often, how carefully."""

    max_steps: Annotated[int, Field(ge=1)] = 100_000
    """Updates in all."""
    epochs: Annotated[float, Field(gt=0)] | None = None
    """Passes over the data, unless max_steps ends it before; null: max_steps alone does."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Parts to compute each batch in: less memory, the same update but for dropout's draws."""
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """Scale gradients down to this norm."""
    clip_value: Annotated[float, Field(gt=0)] | None = None
    """Cut off each number of the gradients, scaled or not, that is larger than this."""
    precision: Precision = "fp32"
    """fp32, or matrix products in bf16 or fp16."""
    skip_nonfinite: Annotated[int, Field(ge=0)] = 0
    """Leave out up to this many moves in a row whose loss or gradient is not finite, then stop."""
    compile: bool = False
    """Compile the networks with torch.compile."""
    sharded: bool = False
    """With several processes: shard weights, gradients and optimiser state over them (FSDP2)."""
    timeout: Annotated[float, Field(gt=0)] = 600.0
    """With several processes: seconds to wait for one that does not answer."""
    log_every: Annotated[int, Field(ge=1)] = 50
    """Steps between records in the log."""
    validate_every: Annotated[int, Field(ge=1)] = 500
    """Steps between validations."""
    checkpoint_every: Annotated[int, Field(ge=1)] = 500
    """Steps between checkpoints."""
    keep_last: Annotated[int, Field(ge=1)] = 5
    """Checkpoints to keep, beside the best."""
    monitor: str = "loss"
    """The validation metric that `best` and early stopping go by."""
    higher_is_better: bool = False
    """Which way the monitored metric improves."""
    patience: Annotated[int, Field(ge=1)] | None = None
    """Stop after this many validations without improvement."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Keep an exponential moving average of the weights, for validation and use."""
    ema_players: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The players whose weights are averaged, as [generator]; null: all."""
    average_last: Annotated[int, Field(ge=0)] = 0
    """At the end, average this many last checkpoints."""

    @model_validator(mode="after")
    def _shards_go_with_it(self) -> "TrainerConfig":
        if self.sharded and (self.compile or self.precision == "fp16"):
            raise ValueError("sharded goes with neither compile nor precision fp16")
        return self

    @model_validator(mode="after")
    def _averages_somebody(self) -> "TrainerConfig":
        if self.ema_players and self.ema_decay is None:
            raise ValueError("ema_players needs an ema_decay")
        return self


def resolve_epochs(config: TrainerConfig, batches: int | None) -> TrainerConfig:
    """`epochs` as `max_steps`, given the batches of one pass over the data; all else as it is."""
    if config.epochs is None:
        return config
    if batches is None:
        raise UserError(
            "trainer.epochs: this task makes its data while it trains, and has no passes over it: "
            "leave it out and set trainer.max_steps"
        )
    steps = math.ceil(config.epochs * batches)
    return dataclasses.replace(config, max_steps=min(config.max_steps, steps))
