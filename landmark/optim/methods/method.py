"""What the optimizers share: checked settings, parameter groups, the loop of one step.

A method is a class of ours above torch's own of the same kind, so whatever takes a torch optimiser
takes it (schedulers, clipping, saved states). `readable=True` steps through the lines of its
`update`; otherwise torch's kernels step, and tests hold the two equal. The names of settings and
of what is remembered are torch's, so that states go from one to the other.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import UserError

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

AT_LEAST_ZERO = ("lr", "eps", "weight_decay")
BELOW_ONE = ("momentum", "alpha", "rho")
"""Decay rates: of a velocity, or of an average of squares."""
SMALL = 2**15
"""Numbers: intermediate results of so many stay in the processor's cache."""


class Method(torch.optim.Optimizer):
    """Base class of the optimizers; listed before torch's class of the same kind."""

    readable: bool
    takes_sparse_gradients = False
    evaluates_again = False
    """Whether `step` calls its closure for the loss and gradient at other weights.

    Its first call gives those at the weights as they are, and costs nothing.
    """
    own: tuple[str, ...] = ("readable",)
    """Attributes beyond torch's that a copied or pickled optimiser keeps."""

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """Move one parameter, in place: the method's equations."""
        raise NotImplementedError

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Move every parameter that has a gradient; the others and their memory stay."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._has_sparse_gradients() or self.readable:  # the first refuses, too
            self._step_written_out()
        else:
            self.step_with_kernels()
        return loss

    @torch.no_grad()
    def _step_written_out(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, group)

    def step_with_kernels(self) -> None:
        """The same step by torch's class."""
        step = super().step.__func__  # type: ignore[attr-defined]
        # Where torch's class is in use by itself too, torch has wrapped its step in the hooks that
        # the step of ours runs already.
        (step.__wrapped__ if getattr(step, "hooked", False) else step)(self)

    def _has_sparse_gradients(self) -> bool:
        """Whether a gradient is sparse: the written-out lines take those, fused kernels do not."""
        sparse = False
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                sparse = sparse or (gradient is not None and gradient.is_sparse)
        if sparse and not self.takes_sparse_gradients:
            raise UserError(
                f"{type(self).__name__} needs dense gradients: build embeddings with sparse=False"
            )
        if sparse and getattr(self, "found_inf", None) is not None:
            raise UserError("sparse gradients do not go with loss scaling: use fp32 or bf16")
        return sparse

    def remembered(self, parameter: Tensor, name: str) -> Tensor:
        """What is kept of a parameter from step to step: zeros before its first gradient."""
        state = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter)
        value: Tensor = state[name]
        return value

    def count(self, parameter: Tensor) -> int:
        """The number of this step of a parameter, from 1 on."""
        state = self.state[parameter]
        if "step" not in state:
            state["step"] = torch.tensor(0.0)
        state["step"] += 1
        return int(state["step"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        check_settings(type(self).__name__, param_group)
        super().add_param_group(param_group)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {name: getattr(self, name) for name in self.own}


def checked(method: str, params: Parameters, settings: Mapping[str, Any]) -> list[Any]:
    """The parameters or groups as a list; a user's mistake in them or in settings is an error."""
    check_settings(method, settings)
    if isinstance(params, Tensor):
        raise UserError(f"{method}: give a list of parameters, not one tensor")
    if isinstance(params, set):
        raise UserError(f"{method}: give a list of parameters: a set has no order to save by")
    listed: list[Any] = [_with_listed_parameters(item) for item in params]
    if not any(not isinstance(item, dict) or item["params"] for item in listed):
        raise UserError(f"{method}: there are no parameters to optimise")
    return listed


def _with_listed_parameters(item: Any) -> Any:
    """A group with its parameters as a list, which can be counted; anything else as it is."""
    if not isinstance(item, dict):
        return item
    given = item.get("params", ())
    return item | {"params": [given] if isinstance(given, Tensor) else list(given)}


def are_small(params: list[Any]) -> bool:
    """Whether tensors are so small on average that torch had better take them all in one call."""
    groups = [item["params"] if isinstance(item, dict) else [item] for item in params]
    tensors = [entry[1] if isinstance(entry, tuple) else entry for g in groups for entry in g]
    return sum(tensor.numel() for tensor in tensors) < SMALL * len(tensors)


def check_settings(method: str, settings: Mapping[str, Any]) -> None:
    """Refuse what no method can step with, before the first step."""
    for name, value in settings.items():
        if name in AT_LEAST_ZERO and not 0 <= value < math.inf:
            raise UserError(f"{method}: {name} is {value}: give a number of at least 0")
        if name in BELOW_ONE and not 0 <= value < 1:
            raise UserError(f"{method}: {name} is {value}: give a number from 0 to below 1")
        if name == "betas" and not (len(value) == 2 and all(0 <= beta < 1 for beta in value)):
            raise UserError(f"{method}: betas are {value}: give two numbers from 0 to below 1")


def pulled(parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
    """The gradient with that of weight decay, λ/2 |θ|², added: g + λθ."""
    decay = group["weight_decay"]
    return decay * parameter + gradient if decay else gradient
