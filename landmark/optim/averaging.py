"""Averages of weights: over the last checkpoints, or moving along with training."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError


class MovingAverage:
    """An exponential moving average of a module's parameters, for evaluation and use.

    Early on the decay is (1 + t) / (10 + t), so that the average is not held back by the start.
    What batch norms have measured is averaged too: it belongs to the weights it was measured with.
    """

    def __init__(self, modules: Mapping[str, nn.Module], decay: float) -> None:
        self.decay = decay
        self.updates = 0
        self.live: dict[str, Tensor] = {}
        self.groups: list[list[str]] = []  # by kind: parameters may be shards, measures never are
        for player, module in modules.items():
            for kind in (dict(module.named_parameters()), _measured(module)):
                named = {f"{player}.{name}": tensor for name, tensor in kind.items()}
                self.live |= named
                self.groups += [list(named)] if named else []
        self.average = {name: value.detach().clone() for name, value in self.live.items()}

    @torch.no_grad()
    def update(self) -> None:
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for names in self.groups:
            averages, lives = ([held[name] for name in names] for held in (self.average, self.live))
            torch._foreach_lerp_(averages, lives, 1 - decay)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """For the length of a `with` block the module holds the averages."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self.live.items():
            held = parameter.detach().clone()
            parameter.copy_(self.average[name])
            self.average[name] = held


def moving_average(
    players: Mapping[str, nn.Module], decay: float | None, chosen: Sequence[str] | None = None
) -> MovingAverage | None:
    """The average that a training keeps of the chosen players (None: of all), if it keeps one."""
    if decay is None:
        return None
    for name in chosen or ():
        if name not in players:
            raise UserError(
                f"trainer.ema_players: there is no player {name!r}: "
                f"choose from {', '.join(players)}"
            )
    return MovingAverage({n: m for n, m in players.items() if not chosen or n in chosen}, decay)


def _measured(module: nn.Module) -> dict[str, Tensor]:
    """Running means and variances: no parameters, but saved with them."""
    saved = module.state_dict().keys()
    buffers = module.named_buffers()
    return {name: b for name, b in buffers if name in saved and b.is_floating_point()}


def average_weights(checkpoints: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each tensor over checkpoints, summed in double precision."""
    total = {name: tensor.double() for name, tensor in checkpoints[0].items()}
    for checkpoint in checkpoints[1:]:
        for name, tensor in checkpoint.items():
            total[name] = total[name] + tensor
    return {
        name: (tensor / len(checkpoints)).to(checkpoints[0][name].dtype)
        for name, tensor in total.items()
    }
