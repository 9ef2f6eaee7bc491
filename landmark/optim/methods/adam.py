"""Adam and its variants AdamW and AMSGrad.

Adam: Kingma and Ba 2015, arXiv 1412.6980, algorithm 1, with its settings. AdamW: Loshchilov and
Hutter 2019, arXiv 1711.05101. AMSGrad: Reddi et al. 2018, arXiv 1904.09237; as in torch it corrects
for the bias, which the paper does not (`bias_correction=False` is the paper's).
"""

from typing import Any

import torch
from torch import Tensor

from landmark.optim.methods.method import Method, Parameters, checked, pulled


class Adam(Method, torch.optim.Adam):
    """A mean of gradients over the root of a mean of their squares, both corrected for their start.

    Both means begin at zero and are too small at first. `bias_correction=False` leaves them so, to
    show what that does; torch has no kernel for it.
    """

    own: tuple[str, ...] = ("readable", "bias_correction")

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        amsgrad: bool = False,
        bias_correction: bool = True,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        params = checked(type(self).__name__, params, settings | {"betas": betas})
        self.bias_correction = bias_correction
        self.readable = readable or not bias_correction
        fused = fused and not self.readable
        super().__init__(params, betas=betas, **settings, amsgrad=amsgrad, fused=fused)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        alpha, (beta1, beta2), epsilon = group["lr"], group["betas"], group["eps"]
        t = self.count(parameter)
        m, v = self.remembered(parameter, "exp_avg"), self.remembered(parameter, "exp_avg_sq")
        g = self.decayed(parameter, gradient, group)
        m.mul_(beta1).add_((1 - beta1) * g)  # m ← β₁m + (1 - β₁)g
        v.mul_(beta2).add_((1 - beta2) * g.square())  # v ← β₂v + (1 - β₂)g²
        if group["amsgrad"]:
            largest = self.remembered(parameter, "max_exp_avg_sq")
            v = torch.maximum(largest, v, out=largest)  # of all v so far
        if self.bias_correction:
            m = m / (1 - beta1**t)  # m̂ = m / (1 - β₁ᵗ)
            v = v / (1 - beta2**t)  # v̂ = v / (1 - β₂ᵗ)
        parameter -= alpha * m / (v.sqrt() + epsilon)  # θ ← θ - αm̂ / (√v̂ + ε)

    def decayed(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """Weight decay goes through the gradient, and so through both means."""
        return pulled(parameter, gradient, group)


class AdamW(Adam, torch.optim.AdamW):
    """Adam with weight decay apart from the gradient: θ ← θ - αλθ first."""

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        amsgrad: bool = False,
        bias_correction: bool = True,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad=amsgrad,
            bias_correction=bias_correction,
            readable=readable,
            fused=fused,
        )

    def decayed(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        parameter *= 1 - group["lr"] * group["weight_decay"]  # θ ← θ - αλθ
        return gradient


class AMSGrad(Adam):
    """Adam whose mean of squares never falls, so that no weight's rate grows again."""

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        bias_correction: bool = True,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad=True,
            bias_correction=bias_correction,
            readable=readable,
            fused=fused,
        )
