"""The settings of a training that every system shares."""

import dataclasses
import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.runtime import Precision


@settings
class TrainerConfig:
    """Training loop: length, precision, validation, checkpoints, averaging."""

    max_steps: Annotated[int, Field(ge=1)] = 100_000
    """Maximum number of training steps (updates)."""
    epochs: Annotated[float, Field(gt=0)] | None = None
    """Number of epochs; training ends earlier if max_steps is reached. null: max_steps alone."""
    accumulate: Annotated[int, Field(ge=1, le=limits.BATCH)] = 1
    """Gradient accumulation steps: split each batch into this many parts to save memory. Only
    dropout draws differently.
    """
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """Gradient clipping: maximum norm of the gradients; null: off."""
    clip_value: Annotated[float, Field(gt=0)] | None = None
    """Clip each gradient value to this absolute value; null: off."""
    precision: Precision = "fp32"
    """Training precision: fp32, or mixed precision with matrix products in bf16 or fp16."""
    skip_nonfinite: Annotated[int, Field(ge=0)] = 0
    """Skip up to this many consecutive updates whose loss or gradient is NaN or infinite, then
    stop.
    """
    compile: bool = False
    """Compile the networks with torch.compile."""
    sharded: bool = False
    """With several processes: shard weights, gradients and optimizer state (FSDP2)."""
    timeout: Annotated[float, Field(gt=0)] = 600.0
    """With several processes: seconds to wait for another process before giving up."""
    log_every: Annotated[int, Field(ge=1)] = 50
    """Number of steps between log records."""
    validate_every: Annotated[int, Field(ge=1)] = 500
    """Number of steps between validations."""
    checkpoint_every: Annotated[int, Field(ge=1)] = 500
    """Number of steps between checkpoints."""
    keep_last: Annotated[int, Field(ge=1)] = 5
    """Number of checkpoints to keep, in addition to the best."""
    monitor: str = "loss"
    """Validation metric that selects the best checkpoint and drives early stopping."""
    higher_is_better: bool = False
    """Whether a higher value of the monitored metric is better."""
    patience: Annotated[int, Field(ge=1)] | None = None
    """Early stopping: stop after this many validations without improvement; null: off."""
    on_collapse: Literal["warn", "stop", "rollback"] = "warn"
    """When a validation shows that the training has failed (GANs: collapse, a discriminator that
    has won, divergence): warn, stop, or rollback: go on from the best checkpoint at half the
    learning rate, three times at most.
    """
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Decay of an exponential moving average of the weights, which is then validated and used;
    null: off.
    """
    ema_players: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Networks with a moving average when several are trained, as [generator]; null: all."""
    average_last: Annotated[int, Field(ge=0)] = 0
    """Checkpoint averaging: average this many last checkpoints at the end; 0: off."""

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
            "omit it and set trainer.max_steps"
        )
    steps = math.ceil(config.epochs * batches)
    return dataclasses.replace(config, max_steps=min(config.max_steps, steps))
