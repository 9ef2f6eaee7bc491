"""The closure that evaluates an update's loss again, for line searches and trust regions.

The trainer has computed loss and gradient where the weights are; this gives them first, and then
again wherever the method has moved the weights to, over all parts and processes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from landmark.core.errors import UserError
from landmark.core.turn import Turn
from landmark.engine import distributed
from landmark.engine.settings import TrainerConfig
from landmark.optim.optimizer import ScheduledOptimizer


class LossClosure:
    """The closure of one player's turns, given the loss and gradients that are there already."""

    def __init__(
        self, optimizer: ScheduledOptimizer, turns: Sequence[Turn], sums: Mapping[str, float]
    ) -> None:
        self.optimizer, self.turns, self.weight = optimizer, turns, sums["weight"]
        self.known: float | None = sums["loss"] / self.weight
        self.seed = torch.initial_seed()  # the update's: dropout draws the same masks again

    def __call__(self) -> float:
        """The mean loss; its gradient is in `.grad`."""
        if self.known is not None:
            loss, self.known = self.known, None
            return loss
        self.optimizer.torch.zero_grad(set_to_none=True)
        torch.manual_seed(self.seed)
        total = 0.0
        for turn in self.turns:
            assert turn.again is not None
            with torch.enable_grad():
                part = turn.again()
                part.backward(inputs=self.optimizer.parameters)
            total += float(part.detach())
        parameters = self.optimizer.parameters
        distributed.sum_gradients(parameters)
        torch._foreach_mul_(self.optimizer.gradients(), 1 / self.weight)
        (total,) = distributed.sum_over_ranks([total], parameters[0].device)
        return total / self.weight


def check_repeatable(config: TrainerConfig, optimizers: Iterable[ScheduledOptimizer]) -> None:
    """Refuse what changes the gradient: a method that asks again needs that of its loss."""
    unfit: dict[str, Any] = {
        "clip_norm": config.clip_norm,
        "clip_value": config.clip_value,
        "sharded": config.sharded,
        "precision": config.precision if config.precision != "fp32" else None,
    }
    methods = [optimizer.method for optimizer in optimizers if optimizer.evaluates_again]
    for key, value in unfit.items():
        if value and methods:
            raise UserError(
                f"{methods[0]} evaluates the loss several times, which does not work with "
                f"trainer.{key}={value}"
            )


def check_turn(turn: Turn, optimizer: ScheduledOptimizer) -> None:
    """Refuse an objective whose loss is computed once and for all."""
    if turn.again is None:
        raise UserError(
            f"{optimizer.method} evaluates a loss several times, which this task does not offer: "
            "choose another optimizer"
        )
