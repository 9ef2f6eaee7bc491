"""Learning-rate schedules as plain functions: of the step, and for a plateau of past validations.

So a checkpoint holds no state of a schedule, only the scores of the validations so far.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.errors import UserError


@settings
class ScheduleConfig:
    """Learning rate schedule."""

    name: Literal["noam", "inverse-sqrt", "cosine", "one-cycle", "step", "plateau", "constant"] = (
        "noam"
    )
    """Learning rate schedule: noam (the Transformer's), inverse-sqrt (the same, scaled by its
    peak), cosine (decay to the last step), one-cycle (as torch's OneCycleLR), step (decay at
    milestones), plateau (as torch's ReduceLROnPlateau) or constant.
    """
    rate: Annotated[float, Field(gt=0)] = 1.0
    """Peak learning rate. noam: a factor instead (paper: 1)."""
    warmup_steps: Annotated[int, Field(ge=0)] = 4000
    """Linear warmup steps."""
    floor: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Minimum learning rate as a fraction of the peak: at the end of cosine, lower limit of
    plateau.
    """
    milestones: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.5, 0.75)
    """step: fractions of the training after which the learning rate is multiplied by `factor`."""
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    """step, plateau: factor that the learning rate is multiplied by."""
    patience: Annotated[int, Field(ge=0)] = 10
    """plateau: validations without improvement of trainer.monitor before a reduction."""
    threshold: Annotated[float, Field(ge=0, lt=1)] = 1e-4
    """plateau: minimum relative change that counts as an improvement."""
    cooldown: Annotated[int, Field(ge=0)] = 0
    """plateau: validations to wait after a reduction before counting again."""
    warmup_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """one-cycle: fraction of the training in which the learning rate increases."""


def build_schedule(
    config: ScheduleConfig, max_steps: int, hidden_size: int | None = None
) -> Callable[[int], float]:
    """The rate of each update of a training; `hidden_size` is the model's, if it has one."""
    if config.name == "noam" and hidden_size is None:
        raise UserError(
            "schedule.name=noam sets the rate by the model's hidden_size, and this model has none: "
            "take inverse-sqrt (the same shape, by its peak), cosine, one-cycle, step, plateau or "
            "constant"
        )
    width = 0 if hidden_size is None else hidden_size
    return partial(learning_rate, config, hidden_size=width, max_steps=max_steps)


def build_plateau(config: ScheduleConfig) -> Callable[[Sequence[float]], float] | None:
    """The share of the rate that is left after these validations; None if they do not matter."""
    return partial(plateau_share, config) if config.name == "plateau" else None


def plateau_share(config: ScheduleConfig, costs: Sequence[float]) -> float:
    """The share of the rate after validations with these costs (lower is better)."""
    best, stale, cooling, reductions = math.inf, 0, 0, 0
    for cost in costs:
        if best == math.inf or cost < best - config.threshold * abs(best):
            best, stale = cost, 0
        else:
            stale += 1
        if cooling:
            cooling, stale = cooling - 1, 0
        if stale > config.patience:
            reductions, cooling, stale = reductions + 1, config.cooldown, 0
    return max(config.factor**reductions, config.floor)


def learning_rate(config: ScheduleConfig, step: int, hidden_size: int, max_steps: int) -> float:
    """The rate of update number `step`, counted from 1."""
    warmup = max(1, config.warmup_steps)
    growth = min(1.0, step / warmup)
    if config.name == "noam":
        # rate = d^-0.5 * min(step^-0.5, step * warmup^-1.5): equation 3 of the Transformer paper
        return config.rate * hidden_size**-0.5 * min(step**-0.5, step * warmup**-1.5)
    if config.name == "inverse-sqrt":
        return config.rate * growth * math.sqrt(warmup / max(step, warmup))
    if config.name == "cosine":
        progress = min(1.0, max(0, step - warmup) / max(1, max_steps - warmup))
        share = config.floor + (1 - config.floor) * (1 + math.cos(math.pi * progress)) / 2
        return config.rate * growth * share
    if config.name == "one-cycle":
        return config.rate * _one_cycle(config.warmup_fraction, step, max_steps)
    if config.name == "step":
        passed = sum(step > milestone * max_steps for milestone in config.milestones)
        return config.rate * growth * config.factor**passed
    return config.rate * growth


def _one_cycle(warmup_fraction: float, step: int, max_steps: int) -> float:
    """The share of the peak: by cosines from 1/25 to 1 and on to 1/250,000 (Smith & Topin 2017)."""
    start, end = 1 / 25, 1 / 25 / 1e4
    peak = warmup_fraction * max_steps - 1  # torch counts updates from 0
    update = min(step, max_steps) - 1
    if update <= peak:
        low, high, progress = start, 1.0, update / max(peak, 1e-9)
    else:
        low, high, progress = 1.0, end, (update - peak) / max(max_steps - 1 - peak, 1e-9)
    return low + (high - low) * (1 - math.cos(math.pi * progress)) / 2
