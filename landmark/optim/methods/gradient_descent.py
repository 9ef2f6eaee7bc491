"""Gradient descent: plain, with momentum, with Nesterov's look ahead; and the lecture's loop.

Momentum: Polyak 1964; Sutskever et al. 2013. The velocity starts at zero and sums up gradients,

    V ← βV + g        θ ← θ - αV

or averages them (`averaged`), as the lecture has it: V ← βV + (1 - β)g. That is the same path with
a rate of α(1 - β), and torch's momentum with a dampening of β, but for the first step, which torch
does not dampen. Nesterov's form is the one for the gradient at θ itself (Bengio et al. 2012,
arXiv 1212.0901): θ ← θ - α(g + βV).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.optim.methods.method import Method, Parameters, checked, pulled


class GradientDescent(Method, torch.optim.SGD):
    """θ ← θ - αg, or along a velocity that remembers earlier gradients."""

    takes_sparse_gradients = True
    own = ("readable", "averaged")

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        *,
        nesterov: bool = False,
        averaged: bool = False,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        params = checked("GradientDescent", params, settings)
        if nesterov and (averaged or not momentum):
            raise UserError("GradientDescent: nesterov needs a momentum that is not averaged")
        self.readable, self.averaged = readable, averaged
        super().__init__(params, **settings, nesterov=nesterov, fused=fused and not readable)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        alpha, beta = group["lr"], group["momentum"]
        g = pulled(parameter, gradient, group)
        if not beta:
            parameter -= alpha * g  # θ ← θ - αg
            return
        velocity = self.remembered(parameter, "momentum_buffer")
        velocity.mul_(beta).add_((1 - beta) * g if self.averaged else g)  # V ← βV + g
        if group["nesterov"]:
            parameter -= alpha * (beta * velocity + g)  # θ ← θ - α(g + βV)
        else:
            parameter -= alpha * velocity  # θ ← θ - αV

    def step_with_kernels(self) -> None:
        """torch would start each velocity at the first gradient, undampened; ours is zero then."""
        has_all = len(self.state) == sum(len(group["params"]) for group in self.param_groups)
        for group in self.param_groups:
            if group["momentum"]:
                group["dampening"] = group["momentum"] if self.averaged else 0.0
                for parameter in () if has_all else group["params"]:
                    if parameter.grad is not None:
                        self.remembered(parameter, "momentum_buffer")
        super().step_with_kernels()


@dataclass(frozen=True)
class Descent:
    """Where a descent ended."""

    steps: int
    loss: float
    gradient_norm: float
    converged: bool
    """Whether the gradient's norm fell below the tolerance; False too if it was not finite."""


def descend(
    optimizer: torch.optim.Optimizer,
    loss: Callable[[], Tensor],
    tolerance: float = 1e-6,
    max_steps: int = 10_000,
    watch: Callable[[int, float], None] = lambda step, loss: None,
) -> Descent:
    """The lecture's loop: step while the norm of the gradient is at least the tolerance.

    The first guess is what the parameters hold. `watch` sees the loss before each step.
    """
    if tolerance < 0 or max_steps < 0:
        raise UserError("descend: tolerance and max_steps are numbers of at least 0")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    step = 0
    while True:
        optimizer.zero_grad()
        value = loss()
        if value.numel() != 1:
            raise UserError(f"descend: the loss has shape {tuple(value.shape)}: give a scalar")
        value.backward()
        # ‖∇f(x)‖ over all parameters together
        norm = math.sqrt(sum(float(p.grad.norm()) ** 2 for p in parameters if p.grad is not None))
        watch(step, value.item())
        is_over = norm < tolerance or not math.isfinite(norm) or step == max_steps
        if is_over:
            return Descent(step, value.item(), norm, norm < tolerance)
        optimizer.step()
        step += 1
