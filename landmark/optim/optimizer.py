"""An optimiser with its schedule, whose state is plain named tensors.

Adam: Kingma and Ba 2015, arXiv 1412.6980. The defaults are the Transformer paper's.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError


@settings
class OptimizerConfig:
    """How gradients become steps."""

    name: Literal["adam", "adamw", "sgd"] = "adam"
    """The method."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (
        0.9,
        0.98,
    )
    """Adam: decay of the first and second moments."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    """Adam: what keeps the division finite."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """sgd: momentum."""
    nesterov: bool = False
    """sgd: look ahead along the momentum (Sutskever et al. 2013)."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Pull towards zero (adamw: decoupled)."""
    decay: Literal["all", "matrices"] = "all"
    """What is pulled: all, or matrices and not biases and norms."""

    @model_validator(mode="after")
    def _looks_ahead_with_momentum(self) -> "OptimizerConfig":
        if self.nesterov and (self.name != "sgd" or not self.momentum):
            raise ValueError("nesterov needs name sgd and a momentum")
        return self


class ScheduledOptimizer:
    """A torch optimiser for one player, and the learning rate for each step.

    Its kernels take for granted, and do not check, that parameters, gradients and moments lie in
    memory in the same order (channels-last or not).
    `share` gives the part of that rate which a parameter takes, by its name: 0 leaves it as it is.
    """

    def __init__(
        self,
        player: nn.Module,
        config: OptimizerConfig,
        schedule: Callable[[int], float],
        share: Callable[[str], float] = lambda name: 1.0,
    ) -> None:
        self.config, self.schedule, self.share = config, schedule, share
        self.adopt(player)

    def adopt(self, player: nn.Module, sharded: bool = False) -> None:
        """Begin anew with this module's parameters, which may have been cut into shards.

        Those that need no gradient, because they are frozen, are left alone.
        """
        self.sharded = sharded
        learnt = {n: p for n, p in player.named_parameters() if p.requires_grad}
        self.names, self.parameters = list(learnt), list(learnt.values())
        self.torch = _build(self._groups(), self.config, sharded)

    def _groups(self) -> list[dict[str, Any]]:
        """Parameters of one share of the rate and one weight decay, together."""
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, parameter in zip(self.names, self.parameters, strict=True):
            is_pulled = self.config.decay == "all" or parameter.dim() > 1
            decay = self.config.weight_decay if is_pulled else 0.0
            groups.setdefault((self.share(name), decay), []).append(parameter)
        return [
            {"params": parameters, "share": share, "weight_decay": decay}
            for (share, decay), parameters in groups.items()
        ]

    def set_rate(self, step: int) -> float:
        """Set the learning rate for this step; returns it."""
        rate = self.schedule(step)
        for group in self.torch.param_groups:
            group["lr"] = rate * group["share"]
        return rate

    def state_dict(self) -> dict[str, Tensor]:
        """The moments and step counts, each named by its parameter."""
        return {
            f"{name}.{key}": torch.as_tensor(value)
            for name, parameter in zip(self.names, self.parameters, strict=True)
            for key, value in self.torch.state.get(parameter, {}).items()
            if value is not None
        }

    def load_state_dict(
        self,
        state: Mapping[str, Tensor],
        lay_out: Callable[[Tensor, Tensor], Tensor] = lambda tensor, parameter: tensor,
    ) -> None:
        """Take up what `state_dict` gave, each tensor laid out as its parameter is."""
        by_name = dict(zip(self.names, self.parameters, strict=True))
        self.torch.state.clear()
        for full_name, value in state.items():
            name, _, key = full_name.rpartition(".")
            if name not in by_name:
                raise UserError(f"the saved optimiser has {name!r}, which this model has not")
            parameter = by_name[name]
            # Fused kernels want the step count beside the parameter too.
            value = lay_out(value.to(parameter.device).clone(), parameter)
            if not self.sharded and value.shape == parameter.shape:
                value = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
            self.torch.state[parameter][key] = value


def _build(
    groups: list[dict[str, Any]], config: OptimizerConfig, sharded: bool
) -> torch.optim.Optimizer:
    """Fused kernels: one pass over each parameter. The rate is set at every step."""
    if config.name == "sgd":
        return torch.optim.SGD(
            groups,
            lr=0.0,
            momentum=config.momentum,
            nesterov=config.nesterov,
            fused=not sharded,  # torch 2.13 has no fused SGD for shards
        )
    method = torch.optim.Adam if config.name == "adam" else torch.optim.AdamW
    return method(groups, lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)
