"""AdaMax: Adam with the largest gradient, slowly forgotten, in place of the mean of squares.

Kingma and Ba 2015, arXiv 1412.6980, algorithm 2, with its settings. As in torch an epsilon is added
to the gradient's size, so that a weight without a gradient is not divided by zero.
"""

from typing import Any

import torch
from torch import Tensor

from landmark.optim.methods.method import Method, Parameters, are_small, checked, pulled


class AdaMax(Method, torch.optim.Adamax):
    """u ← max(β₂u, |g|), θ ← θ - α / (1 - β₁ᵗ) · m / u."""

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        readable: bool = False,
        foreach: bool | None = None,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        params = checked("AdaMax", params, settings | {"betas": betas})
        self.readable = readable
        foreach = are_small(params) if foreach is None else foreach
        super().__init__(params, betas=betas, **settings, foreach=foreach)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        alpha, (beta1, beta2) = group["lr"], group["betas"]
        t = self.count(parameter)
        m, u = self.remembered(parameter, "exp_avg"), self.remembered(parameter, "exp_inf")
        g = pulled(parameter, gradient, group)
        m.mul_(beta1).add_((1 - beta1) * g)  # m ← β₁m + (1 - β₁)g
        torch.maximum(beta2 * u, g.abs() + group["eps"], out=u)  # u ← max(β₂u, |g|)
        parameter -= alpha / (1 - beta1**t) * m / u  # θ ← θ - α / (1 - β₁ᵗ) · m / u
