"""Adam's bias correction: a small network trained with and without it.

Kingma and Ba 2015, arXiv 1412.6980, figure 4, has a variational autoencoder there; here it is one
hidden layer of tanh on the embedded digits. Both moments begin at zero. Without correction a step
is too large by (1 - β₁ᵗ) / √(1 - β₂ᵗ), the more and the longer the nearer β₂ is to 1.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.data.images.digits import digits_splits
from landmark.optim.methods.adam import Adam

HIDDEN, CLASSES, BATCH = 32, 10, 64
BETA1 = 0.9
BETA2S = (0.99, 0.999, 0.9999)
RATES = tuple(10 ** (power / 2) for power in range(-8, 1))
"""From 1e-4 to 1."""
WORST = 50.0
"""A mean loss above this, or none that is a number, counts as this."""


@dataclass(frozen=True)
class BiasRun:
    """A training at one rate."""

    beta2: float
    corrected: bool
    rate: float
    losses: tuple[float, ...]
    """Of each batch, before its step."""
    final: float
    """Over all training images, after the last step."""


def excess(beta1: float, beta2: float, step: int) -> float:
    """How many times as large as a corrected step one without correction is."""
    return (1 - beta1**step) / math.sqrt(1 - beta2**step)


def best_rate(runs: Sequence[BiasRun]) -> float:
    """The rate with which corrected trainings end the lowest, on the average."""
    finals: dict[float, float] = {}
    for run in runs:
        if run.corrected:
            finals[run.rate] = finals.get(run.rate, 0.0) + run.final
    return min(finals, key=lambda rate: finals[rate])


def train_with_and_without(
    beta2s: Sequence[float], rates: Sequence[float], steps: int, seed: int
) -> list[BiasRun]:
    """The same batches and the same first weights for every training."""
    if not beta2s or not all(0 <= beta2 < 1 for beta2 in beta2s):
        raise UserError("beta2: give numbers from 0 to below 1")
    if not rates or not all(0 < rate < math.inf for rate in rates):
        raise UserError("rates are positive numbers: give at least one")
    if steps < 1:
        raise UserError("steps: give at least 1")
    images = digits_splits()["train"]
    pixels = torch.as_tensor(images.images).flatten(1).float() / 255  # (N, 64)
    labels = torch.as_tensor(images.labels)
    return [
        run
        for beta2 in beta2s
        for corrected in (True, False)
        for run in _train(pixels, labels, beta2, corrected, rates, steps, seed)
    ]


def _train(
    pixels: Tensor,
    labels: Tensor,
    beta2: float,
    corrected: bool,
    rates: Sequence[float],
    steps: int,
    seed: int,
) -> Iterator[BiasRun]:
    """One training for each rate, all at once: a copy of the network each, a rate for each copy."""
    copies, chance = len(rates), torch.Generator().manual_seed(derive_seed(seed, "bias"))
    parameters = _weights(pixels.shape[1], copies, chance)
    optimizer = Adam(parameters, betas=(BETA1, beta2), bias_correction=corrected, readable=True)
    optimizer.param_groups[0]["lr"] = torch.tensor(rates)[:, None, None]
    losses = []
    for _ in range(steps):
        chosen = torch.randint(len(labels), (BATCH,), generator=chance)
        loss = _losses(pixels[chosen], labels[chosen], parameters)  # (R,)
        gradients = torch.autograd.grad(loss.sum(), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        final = _losses(pixels, labels, parameters)
    table = torch.stack([*losses, final]).nan_to_num(WORST, WORST, WORST).clamp(max=WORST)
    for rate, curve in zip(rates, table.T.tolist(), strict=True):
        yield BiasRun(beta2, corrected, rate, tuple(curve[:-1]), curve[-1])


def _weights(inputs: int, copies: int, chance: torch.Generator) -> list[nn.Parameter]:
    """Uniform up to 1 / √inputs, as torch's layers begin; biases in a row of their own."""
    parameters = []
    for fan_in, fan_out in ((inputs, HIDDEN), (HIDDEN, CLASSES)):
        weight = (2 * torch.rand(fan_in + 1, fan_out, generator=chance) - 1) / math.sqrt(fan_in)
        parameters.append(nn.Parameter(weight.expand(copies, -1, -1).clone()))
    return parameters


def _losses(pixels: Tensor, labels: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The mean loss of each copy. pixels: (B, I), parameters: (R, I + 1, D), (R, D + 1, 10)"""
    first, second = parameters
    hidden = (pixels @ first[:, :-1] + first[:, -1:]).tanh()  # (R, B, D)
    logits = hidden @ second[:, :-1] + second[:, -1:]  # (R, B, 10)
    losses = F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(first)), reduction="none")
    return losses.view(len(first), -1).mean(1)
