"""AdaGrad: a rate for each weight, by the squares of all its gradients so far.

Duchi, Hazan and Singer 2011, JMLR 12, with a diagonal matrix. The paper gives no rate; 0.01 and
the epsilon of 1e-10 are torch's.
"""

from typing import Any

import torch
from torch import Tensor

from landmark.optim.methods.method import Method, Parameters, checked, pulled


class AdaGrad(Method, torch.optim.Adagrad):
    """S ← S + g², θ ← θ - αg / (√S + ε)."""

    takes_sparse_gradients = True

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.01,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
        *,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        params = checked("AdaGrad", params, settings)
        self.readable = readable
        super().__init__(params, **settings, fused=fused and not readable)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        self.count(parameter)  # of no use here, but torch's kernels keep it
        total = self.remembered(parameter, "sum")
        where, g = present(pulled(parameter, gradient, group))
        total[where] += g.square()  # S ← S + g²
        # θ ← θ - αg / (√S + ε)
        parameter[where] -= group["lr"] * g / (total[where].sqrt() + group["eps"])


def present(gradient: Tensor) -> tuple[Any, Tensor]:
    """Where a gradient is given and what it is there: of a sparse one some rows, else all of it."""
    if not gradient.is_sparse:
        return ..., gradient
    gradient = gradient.coalesce()  # a row that is there twice is squared once
    return tuple(gradient.indices()), gradient.values()
