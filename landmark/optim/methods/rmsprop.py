"""RMSProp: the gradient over the root of a moving average of its squares.

Tieleman and Hinton 2012, lecture 6e of their course: average 0.9, rate 0.001. Centred, with the
variance in place of the mean square, and with momentum: Graves 2013, arXiv 1308.0850. The defaults
are torch's: average 0.99, rate 0.01, and an epsilon of 1e-8, of which the lecture has none.
"""

from typing import Any

import torch
from torch import Tensor

from landmark.optim.methods.method import Method, Parameters, are_small, checked, pulled


class RMSProp(Method, torch.optim.RMSprop):
    """S ← βS + (1 - β)g², θ ← θ - αg / (√S + ε); β is called `alpha`, as torch does."""

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        momentum: float = 0.0,
        centered: bool = False,
        readable: bool = False,
        foreach: bool | None = None,
    ) -> None:
        settings: dict[str, Any] = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
        }
        params = checked("RMSProp", params, settings | {"momentum": momentum})
        self.readable = readable
        foreach = are_small(params) if foreach is None else foreach
        settings |= {"momentum": momentum, "centered": centered, "foreach": foreach}
        super().__init__(params, **settings)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        self.count(parameter)  # of no use here, but torch's kernels keep it
        beta, squares = group["alpha"], self.remembered(parameter, "square_avg")
        g = pulled(parameter, gradient, group)
        squares.mul_(beta).add_((1 - beta) * g.square())  # S ← βS + (1 - β)g²
        spread = squares
        if group["centered"]:
            mean = self.remembered(parameter, "grad_avg")
            mean.mul_(beta).add_((1 - beta) * g)  # M ← βM + (1 - β)g
            spread = squares - mean.square()  # S - M²
        move = g / (spread.sqrt() + group["eps"])
        if group["momentum"]:
            velocity = self.remembered(parameter, "momentum_buffer")
            move = velocity.mul_(group["momentum"]).add_(move)  # V ← μV + g / (√S + ε)
        parameter -= group["lr"] * move  # θ ← θ - αg / (√S + ε)
