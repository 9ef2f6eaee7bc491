"""AdaDelta: steps in the units of the weights, by the size of earlier steps; no rate to choose.

Zeiler 2012, arXiv 1212.5701: rho 0.95 and epsilon 1e-6. The defaults are torch's: rho 0.9, and a
rate of 1, by which each step is multiplied; the paper has none, and schedules use it.
"""

from typing import Any

import torch
from torch import Tensor

from landmark.optim.methods.method import Method, Parameters, are_small, checked, pulled


class AdaDelta(Method, torch.optim.Adadelta):
    """Δ = g √(D + ε) / √(S + ε): S averages the squares of gradients, D those of steps."""

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        readable: bool = False,
        foreach: bool | None = None,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        params = checked("AdaDelta", params, settings)
        self.readable = readable
        foreach = are_small(params) if foreach is None else foreach
        super().__init__(params, **settings, foreach=foreach)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        self.count(parameter)  # of no use here, but torch's kernels keep it
        rho, epsilon = group["rho"], group["eps"]
        squares = self.remembered(parameter, "square_avg")
        steps = self.remembered(parameter, "acc_delta")
        g = pulled(parameter, gradient, group)
        squares.mul_(rho).add_((1 - rho) * g.square())  # S ← ρS + (1 - ρ)g²
        delta = (steps + epsilon).sqrt() / (squares + epsilon).sqrt() * g  # Δ = g √(D+ε) / √(S+ε)
        steps.mul_(rho).add_((1 - rho) * delta.square())  # D ← ρD + (1 - ρ)Δ²
        parameter -= group["lr"] * delta  # θ ← θ - Δ
