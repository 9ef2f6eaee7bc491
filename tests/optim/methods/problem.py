"""A convex problem for two optimisers at once: how far apart a thousand steps take them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

Build = Callable[[list[dict[str, Any]]], torch.optim.Optimizer]
STEPS = 1000
TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5}


class LeastSquares:
    """Fit y by Xw + b, eight noisy rows at a time; gradients are written down, not derived.

    As the rows differ from step to step no gradient vanishes, where rounding would decide.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        chance = torch.Generator().manual_seed(7)
        draw = {"generator": chance, "dtype": torch.float64}
        self.inputs = torch.randn(64, 5, **draw).to(dtype)
        truth = torch.randn(5, 3, **draw)
        noise = torch.randn(64, 3, **draw)
        self.targets = (self.inputs.double() @ truth + 1.0 + 0.5 * noise).to(dtype)
        self.weight = torch.zeros(5, 3, dtype=dtype, requires_grad=True)
        self.bias = torch.zeros(3, dtype=dtype, requires_grad=True)

    @property
    def parameters(self) -> list[Tensor]:
        return [self.weight, self.bias]

    def set_gradients(self, step: int, missing: bool) -> None:
        """Those of this step's rows; where some may be missing, the bias has one in three."""
        rows = torch.arange(8) + 8 * (step % 8)
        inputs = self.inputs[rows]
        residual = inputs @ self.weight.detach() + self.bias.detach() - self.targets[rows]
        self.weight.grad = inputs.T @ residual / len(rows)
        self.bias.grad = None if missing and step % 3 else residual.mean(0)


@cache
def path(build: Build, dtype: torch.dtype, everything: bool) -> list[Tensor]:
    """Where a thousand steps lead; each hundredth place. Walked once for each builder.

    Everything: groups of their own rate and weight decay, a schedule, clipping, missing gradients.
    """
    problem, places = LeastSquares(dtype), []
    groups: list[dict[str, Any]] = [{"params": problem.parameters}]
    if everything:
        groups = [
            {"params": [problem.weight], "weight_decay": 0.1},
            {"params": [problem.bias], "lr": 0.02, "weight_decay": 0.0},
        ]
    optimizer = build(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        problem.set_gradients(step, missing=everything)
        if everything:
            torch.nn.utils.clip_grad_norm_(problem.parameters, 1.0)
        optimizer.step()
        if everything:
            schedule.step()
        if step % 100 == 99:
            places.append(torch.cat([p.detach().flatten() for p in problem.parameters]).clone())
    return places


def assert_same_path(ours: Build, theirs: Build, dtype: torch.dtype, everything: bool) -> None:
    """Equal to the last place that counts, all along a way that leads somewhere."""
    expected = path(theirs, dtype, everything)
    found = path(ours, dtype, everything)
    assert expected[-1].norm() > 0.5
    assert (expected[-1] - expected[0]).norm() > 1e-3
    for place, their_place in zip(found, expected, strict=True):
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(place, their_place, rtol=tolerance, atol=tolerance)
