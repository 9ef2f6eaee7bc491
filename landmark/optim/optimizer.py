"""An optimiser with its schedule, whose state is plain named tensors.

The methods are those of `landmark.optim.methods`. The defaults of Adam and its kin are those of
Adam's paper and of torch. RMSProp and AdaDelta average here as their papers have it, not as torch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.optim.methods.adadelta import AdaDelta
from landmark.optim.methods.adagrad import AdaGrad
from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.optim.methods.lbfgs import LBFGS
from landmark.optim.methods.method import Method
from landmark.optim.methods.muon import Muon, block_matrices
from landmark.optim.methods.rmsprop import RMSProp

MethodName = Literal[
    "sgd",
    "momentum",
    "averaged-momentum",
    "nesterov",
    "adagrad",
    "rmsprop",
    "adadelta",
    "adam",
    "adamw",
    "adamax",
    "amsgrad",
    "muon",
    "lbfgs",
]
SPARSE_METHODS = ("sgd", "momentum", "averaged-momentum", "nesterov", "adagrad")
"""Those that take sparse gradients."""
Share = Callable[[str], float]
"""The part of the learning rate that a parameter takes, by its name."""
_Decay = Annotated[float, Field(ge=0, lt=1)]
_USUAL_MOMENTUM = 0.9
_MUON_MOMENTUM = 0.95
_PUBLISHED_DECAY = {"rmsprop": 0.9, "adadelta": 0.95}


@settings
class OptimizerConfig:
    """Optimizer and its hyperparameters."""

    name: MethodName = "adam"
    """Optimizer."""
    betas: tuple[_Decay, _Decay] = (0.9, 0.999)
    """adam, adamw, adamax, amsgrad, muon: decay rates of the running averages of the gradient and
    its square.
    """
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    """adam, adamw, adamax, amsgrad, muon: term added to the denominator for numerical stability."""
    bias_correction: bool = True
    """adam, adamw, amsgrad, muon: Adam's bias correction of the moment estimates."""
    momentum: _Decay = 0.0
    """sgd, muon: momentum factor. 0 means 0.9 for momentum, averaged-momentum and nesterov, 0.95
    for muon.
    """
    final_momentum: _Decay | None = None
    """sgd: momentum factor that `momentum` grows to in equal steps; null: it stays."""
    momentum_steps: Annotated[int, Field(ge=1)] = 10_000
    """sgd: updates until `final_momentum` is reached."""
    nesterov: bool = False
    """sgd: use Nesterov momentum (Sutskever et al. 2013)."""
    square_decay: _Decay | None = None
    """rmsprop, adadelta: decay rate of the running average of squared gradients; null: the
    published value, 0.9 or 0.95.
    """
    square_epsilon: Annotated[float, Field(gt=0)] | None = None
    """adagrad, rmsprop, adadelta: term added to the denominator for numerical stability; null:
    1e-10, 1e-8, 1e-6.
    """
    centered: bool = False
    """rmsprop: centered version, which normalises by an estimate of the gradient's variance."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Weight decay (decoupled for adamw and muon)."""
    decay: Literal["all", "matrices"] = "all"
    """Parameters that weight decay applies to: all, or only matrices (no biases, no norms)."""
    iterations: Annotated[int, Field(ge=1)] = 10
    """lbfgs: iterations per batch, each with a line search."""
    readable: bool = False
    """Use Landmark's own readable implementation instead of torch's kernels (slower)."""

    @model_validator(mode="after")
    def _looks_ahead_with_momentum(self) -> "OptimizerConfig":
        if self.name == "sgd" and self.nesterov and not self.momentum:
            raise ValueError("nesterov needs a momentum")
        if self.final_momentum is not None and (self.name != "sgd" or not self.momentum):
            raise ValueError("final_momentum is for name=sgd with a momentum to begin with")
        return self

    def momentum_at(self, step: int) -> float | None:
        """What the momentum factor of this update is; None: it never changes."""
        if self.final_momentum is None:
            return None
        share = min(1.0, step / self.momentum_steps)
        return self.momentum + share * (self.final_momentum - self.momentum)

    @property
    def has_moments(self) -> bool:
        """Whether the method reads `betas` and `epsilon`."""
        return self.name in ("adam", "adamw", "adamax", "amsgrad", "muon")


class ScheduledOptimizer:
    """A torch optimiser for one player, and the learning rate for each step.

    Its kernels take for granted, and do not check, that parameters, gradients and moments lie in
    memory in the same order (channels-last or not).
    `share` gives the part of that rate which a parameter takes, by its name: 0 leaves it as it is.
    `build` makes the torch optimiser of parameter groups; by default it is the method that the
    settings name. `plateau` gives the share of the rate that validations so far have left.
    """

    def __init__(
        self,
        player: nn.Module,
        config: OptimizerConfig,
        schedule: Callable[[int], float],
        share: Share = lambda name: 1.0,
        build: Callable[[list[dict[str, Any]]], torch.optim.Optimizer] | None = None,
        plateau: Callable[[Sequence[float]], float] | None = None,
    ) -> None:
        self.config, self.schedule, self.share, self.build = config, schedule, share, build
        self.plateau = plateau
        self.adopt(player)

    def adopt(self, player: nn.Module, sharded: bool = False) -> None:
        """Begin anew with this module's parameters, which may have been cut into shards.

        Those that need no gradient, because they are frozen, are left alone.
        """
        self.sharded = sharded
        learnt = {n: p for n, p in player.named_parameters() if p.requires_grad}
        self.names, self.parameters = list(learnt), list(learnt.values())
        self.matrices: dict[str, int] = {}
        if self.config.name == "muon" and self.build is None:
            self.matrices = _matrices_for_muon(player, self.names, sharded)
        groups = self._groups()
        built = self.build(groups) if self.build else _build(groups, self.config, sharded)
        self.torch: torch.optim.Optimizer = built

    @property
    def evaluates_again(self) -> bool:
        """Whether a step calls a closure for the loss at other weights: the method says so."""
        return bool(getattr(self.torch, "evaluates_again", False))

    @property
    def method(self) -> str:
        """The method's name, for messages."""
        return type(self.torch).__name__

    def _groups(self) -> list[dict[str, Any]]:
        """Parameters of one share of the rate and one weight decay, together; Muon's, by parts."""
        groups: dict[tuple[float, float, int], list[nn.Parameter]] = {}
        for name, parameter in zip(self.names, self.parameters, strict=True):
            is_pulled = self.config.decay == "all" or parameter.dim() > 1
            decay = self.config.weight_decay if is_pulled else 0.0
            share = self.share(name)
            parts = self.matrices.get(name, 0) if share else 0
            groups.setdefault((share, decay, parts), []).append(parameter)
        return [
            {"params": parameters, "share": share, "weight_decay": decay, "parts": parts}
            for (share, decay, parts), parameters in groups.items()
        ]

    def gradients(self) -> list[Tensor]:
        """Of each parameter that has one, to be changed in place; of a sparse one its rows."""
        found = []
        for parameter in self.parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                found.append(parameter.grad.values())
            elif parameter.grad is not None:
                found.append(parameter.grad)
        return found

    def set_rate(self, step: int, costs: Sequence[float] = (), share: float = 1.0) -> float:
        """Set the learning rate for this step, after validations with these costs; returns it.

        share: what is left of it for other reasons.
        """
        rate = self.schedule(step) * (self.plateau(costs) if self.plateau else 1.0) * share
        momentum = self.config.momentum_at(step)
        for group in self.torch.param_groups:
            group["lr"] = rate * group["share"]
            if momentum is not None:
                group["momentum"] = momentum
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
                raise UserError(f"the saved optimiser has {name!r}, which this model does not have")
            parameter = by_name[name]
            # Fused kernels want the step count beside the parameter too.
            value = lay_out(value.to(parameter.device).clone(), parameter)
            if not self.sharded and value.shape == parameter.shape:
                value = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
            self.torch.state[parameter][key] = value


def _matrices_for_muon(player: nn.Module, learnt: Sequence[str], sharded: bool) -> dict[str, int]:
    """What Muon is for; refuses where it has nothing to do, or only pieces."""
    if sharded:
        raise UserError("optimizer.name=muon needs whole matrices, not shards: take adamw")
    matrices = block_matrices(player)
    if not matrices.keys() & set(learnt):
        raise UserError(
            "optimizer.name=muon is for attention and feed-forward layers, and this network has "
            "none to learn: take adamw"
        )
    return matrices


def _build(groups: list[dict[str, Any]], config: OptimizerConfig, sharded: bool) -> Method | LBFGS:
    """The method with its own settings, in kernels as fused as there are. Rates come each step."""
    name, readable = config.name, config.readable
    if name == "lbfgs":
        return LBFGS(groups, lr=0.0, iterations=config.iterations)
    if name in ("sgd", "momentum", "averaged-momentum", "nesterov"):
        return GradientDescent(
            groups,
            lr=0.0,
            momentum=config.momentum or (0.0 if name == "sgd" else _USUAL_MOMENTUM),
            nesterov=name == "nesterov" or (name == "sgd" and config.nesterov),
            averaged=name == "averaged-momentum",
            readable=readable,
            fused=not sharded,  # torch 2.13 has no fused SGD and AdaGrad for shards
        )
    if name in ("adagrad", "rmsprop", "adadelta"):
        return _build_by_squares(groups, config, sharded)
    own: dict[str, Any] = {"lr": 0.0, "betas": config.betas, "eps": config.epsilon}
    if name == "adamax":
        foreach = False if sharded else None
        return AdaMax(groups, **own, readable=readable, foreach=foreach)
    if name == "muon":
        momentum = config.momentum or _MUON_MOMENTUM
        own |= {"momentum": momentum, "bias_correction": config.bias_correction}
        return Muon(groups, **own, readable=readable)
    method = {"adam": Adam, "adamw": AdamW, "amsgrad": AMSGrad}[name]
    return method(groups, **own, bias_correction=config.bias_correction, readable=readable)


def _build_by_squares(
    groups: list[dict[str, Any]], config: OptimizerConfig, sharded: bool
) -> Method:
    """A method that scales by squares of gradients and keeps no mean of gradients."""
    own: dict[str, Any] = {"lr": 0.0, "readable": config.readable}
    if config.square_epsilon is not None:
        own["eps"] = config.square_epsilon
    if config.name == "adagrad":
        return AdaGrad(groups, **own, fused=not sharded)
    own["foreach"] = False if sharded else None
    decay = config.square_decay
    decay = _PUBLISHED_DECAY[config.name] if decay is None else decay
    own["alpha" if config.name == "rmsprop" else "rho"] = decay
    if config.name == "rmsprop":
        return RMSProp(groups, **own, centered=config.centered)
    return AdaDelta(groups, **own)
