"""The contract between objective and trainer: who moves, on what loss, over how much data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn


@dataclass
class Turn:
    """One player's move: the trainer minimises loss_sum / weight over that player's parameters.

    `loss_sum` and every metric are sums over the same `weight` units (tokens, samples), so that
    parts of a batch and processes add up exactly. `again` computes loss_sum anew with the weights
    as they are by then, for methods that evaluate it more than once (`evaluates_again`).
    """

    player: str
    loss_sum: Tensor
    weight: float
    metrics: Mapping[str, Tensor | float] = field(default_factory=dict)
    again: Callable[[], Tensor] | None = None


class Objective(ABC):
    """How models learn: which players there are, the turns they take, how to measure them.

    Every rank must yield the same players in the same order; the order may depend on `step`,
    never on data.
    """

    players: Mapping[str, nn.Module]
    unit: str = "tokens"
    """What a turn's weight counts, for messages."""
    warns_of_spikes: bool = True
    """Whether a loss that leaps is worth a warning: not where players make each other's leap."""

    @property
    def loss_includes(self) -> str:
        """What the training loss has and validation's loss has not, for messages; "": nothing."""
        return ""

    @abstractmethod
    def turns(self, batch: Any, step: int) -> Iterator[Turn]:
        """One turn after another; each sees the weights that the turn before it updated."""

    @abstractmethod
    def measure(self, batch: Any) -> Mapping[str, tuple[float, float]]:
        """Validation metrics of a batch as (sum, weight)."""

    def summarize(self, means: Mapping[str, float]) -> dict[str, float]:
        """What a validation reports, from the means of its metrics: what is no mean is added."""
        return dict(means)

    def state_dict(self) -> dict[str, Tensor]:
        """What the objective itself carries from step to step; the players' weights are not."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state_dict` gave."""
        if state:
            raise ValueError(f"{type(self).__name__} carries no state, but some was saved")
