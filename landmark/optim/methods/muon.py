"""Muon: steps along the momentum made orthogonal, for matrices; AdamW for all else.

Jordan et al. 2024, a report with code and no paper (kellerjordan.github.io/posts/muon); the length
of its steps as in Liu et al. 2025, arXiv 2502.16982, so that it takes Adam's rates. It is younger
than the systems of this package. A matrix's gradient has a few large directions; here the smaller
ones count nearly as much.

Departures: in single precision and not bf16; a weight that holds several matrices (query, key and
value) is taken apart; matrices of one shape are made orthogonal in one go, which holds all their
steps in memory at once.
"""

from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.optim.methods.adam import AdamW
from landmark.optim.methods.method import Parameters

_ITERATIONS = 5
_A, _B, _C = 3.4445, -4.7750, 2.0315  # the report's: steep at 0, and near enough to 1 after five
_ADAM_LIKE = 0.2  # the root mean square of Adam's steps, in rates


class Muon(AdamW):
    """Momentum, then W ← W - α √max(m, n) / 5 · O, where O is the momentum's nearest orthogonal.

    A group says in `parts` how many matrices each of its parameters is made of, one below the
    other (1 unless given); one with `parts=0` is AdamW's, with the other settings for it.
    """

    own = (*AdamW.own, "momentum")

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        momentum: float = 0.95,
        bias_correction: bool = True,
        readable: bool = False,
        fused: bool = True,
    ) -> None:
        self.momentum = momentum
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            bias_correction=bias_correction,
            readable=readable,
            fused=fused,
        )
        # Fused AdamW would itself leave out a step whose gradients overflowed; ours would not.
        self._step_supports_amp_scaling = False

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        group = {"parts": 1, "momentum": self.momentum} | param_group
        given = group["params"]
        group["params"] = [given] if isinstance(given, Tensor) else list(given)
        for entry in group["params"] if group["parts"] else ():
            _check_parts(entry[1] if isinstance(entry, tuple) else entry, group["parts"])
        super().add_param_group(group)

    def update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        if not group["parts"]:
            super().update(parameter, gradient, group)
            return
        for matrix, direction in self._directions(parameter, gradient, group):
            matrix -= _length(matrix, group["lr"]) * orthogonal(direction)

    def step_with_kernels(self) -> None:
        """Matrices by shape, many at once; then the rest by torch's AdamW."""
        self._step_matrices()
        groups = self.param_groups
        self.param_groups = [group for group in groups if not group["parts"]]
        try:
            super().step_with_kernels()
        finally:
            self.param_groups = groups

    @torch.no_grad()
    def _step_matrices(self) -> None:
        alike: dict[Any, list[tuple[Tensor, Tensor, float]]] = {}
        for group in self.param_groups:
            for parameter in group["params"] if group["parts"] else ():
                if parameter.grad is not None:
                    for matrix, direction in self._directions(parameter, parameter.grad, group):
                        entry = matrix, direction, _length(matrix, group["lr"])
                        key = matrix.shape, matrix.device, matrix.dtype
                        alike.setdefault(key, []).append(entry)
        for entries in alike.values():
            steps = orthogonal(torch.stack([direction for _, direction, _ in entries]))
            for (matrix, _, length), step in zip(entries, steps, strict=True):
                matrix.sub_(step, alpha=length)

    def _directions(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]
    ) -> list[tuple[Tensor, Tensor]]:
        """Decay a parameter and take its gradient up; its matrices, and where each is to go."""
        mu, parts = group["momentum"], group["parts"]
        self.count(parameter)  # torch's Adam looks for it in whatever has a memory
        momentum = self.remembered(parameter, "momentum_buffer")
        gradient = self.decayed(parameter, gradient, group)  # W ← W - αλW
        momentum.lerp_(gradient, 1 - mu)  # M ← μM + (1 - μ)G
        ahead = gradient.lerp(momentum, mu)  # Nesterov's: (1 - μ)G + μM
        return list(zip(parameter.chunk(parts), ahead.chunk(parts), strict=True))


def _check_parts(parameter: Tensor, parts: int) -> None:
    shape = tuple(parameter.shape)
    if parameter.dim() != 2:
        raise UserError(f"Muon: {shape} is no matrix: put it into a group with parts=0")
    if parts < 0 or shape[0] % parts:
        raise UserError(f"Muon: parts is {parts}: {shape[0]} rows are not so many matrices")


def _length(matrix: Tensor, rate: float) -> float:
    return float(rate * _ADAM_LIKE * max(matrix.shape) ** 0.5)


def orthogonal(matrices: Tensor) -> Tensor:
    """U Vᵀ of each matrix U S Vᵀ, roughly. (..., M, N)

    X ← aX + b(XXᵀ)X + c(XXᵀ)²X, five times, from X of norm 1: singular values of more than a
    hundredth come to lie between 0.6 and 1.3, smaller ones are raised less far.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        factor = (gram @ gram).mul_(_C).add_(gram, alpha=_B)  # bXXᵀ + c(XXᵀ)²
        factor.diagonal(dim1=-2, dim2=-1).add_(_A)
        x = factor @ x
    return x.mT if tall else x


def block_matrices(network: nn.Module) -> dict[str, int]:
    """The weights of attention and feed-forward layers, and how many matrices each is made of.

    Those layers say so themselves, in `matrices`. Embeddings, norms, biases and the layers at a
    network's ends are not among them.
    """
    return {
        f"{name}.{layer}.weight".removeprefix("."): parts
        for name, module in network.named_modules()
        for layer, parts in getattr(module, "matrices", {}).items()
    }
