"""The output layer and its label-smoothed cross-entropy in one, a chunk of tokens at a time.

Logits of a whole batch are the largest tensor of a small translation model (tokens x vocabulary).
Here a chunk's logits are turned into their own gradient in place, multiplied into the gradients of
the hidden states and of the weight, and forgotten, so memory does not grow with the batch.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

_CHUNK_ELEMENTS = 1 << 21  # logits held at a time: 8 MB in float32


class ProjectionLoss(NamedTuple):
    """Sums over tokens: the loss to minimise, the plain cross-entropy, and the right guesses."""

    loss_sum: Tensor
    nll_sum: Tensor
    correct: Tensor


def projected_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    label_smoothing: float = 0.0,
    bias: Tensor | None = None,
) -> ProjectionLoss:
    """Cross-entropy of softmax(hidden @ weight.T + bias) against labels, summed over tokens.

    Smoothing spreads `label_smoothing` of the target evenly over the vocabulary. Only `loss_sum`
    carries a gradient.
    hidden: (N, D), weight: (V, D), labels: (N,), bias: (V,)
    """
    if bias is not None:  # a bias is the weight of an input that is always 1
        hidden = torch.cat((hidden, hidden.new_ones(len(hidden), 1)), 1)
        weight = torch.cat((weight, bias[:, None]), 1)
    if torch.is_autocast_enabled(hidden.device.type):
        dtype = torch.get_autocast_dtype(hidden.device.type)
        hidden, weight = hidden.to(dtype), weight.to(dtype)
    # Asked here: inside a Function's forward, gradients are always off.
    learning = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
    return ProjectionLoss(*_ChunkedLoss.apply(hidden, weight, labels, label_smoothing, learning))


def token_losses(
    hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Cross-entropy of each token, for losses that are no plain sum. (N, D) -> (N,)

    Logits are forgotten, and computed again for their gradient.
    """

    def loss(states: Tensor, answers: Tensor) -> Tensor:
        logits = functional.linear(states, weight, bias).float()
        return functional.cross_entropy(logits, answers, reduction="none")

    rows = max(1, _CHUNK_ELEMENTS // len(weight))
    pieces = [
        checkpoint(loss, states, answers, use_reentrant=False)
        for states, answers in zip(hidden.split(rows), labels.split(rows), strict=True)
    ]
    return torch.cat(pieces)


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, learning: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Sums over many chunks are kept in single precision at least, whatever the inputs have.
        dtype = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        sums = torch.zeros(3, dtype=dtype, device=hidden.device)
        hidden_gradient = torch.empty_like(hidden) if learning else None
        weight_gradient = torch.zeros_like(weight, dtype=dtype) if learning else None
        rows = max(1, _CHUNK_ELEMENTS // weight.shape[0])
        buffer = hidden.new_empty(min(rows, len(hidden)), len(weight))
        for start in range(0, len(hidden), rows):
            part = slice(start, start + rows)
            tokens = len(labels[part])
            logits = torch.mm(hidden[part], weight.T, out=buffer[:tokens]).to(dtype)
            sums += _measure(logits, labels[part], smoothing)
            if hidden_gradient is not None and weight_gradient is not None:
                gradient = logits.to(hidden.dtype)  # _measure turned the logits into this
                torch.mm(gradient, weight, out=hidden_gradient[part])
                if hidden.dtype == dtype:
                    weight_gradient.addmm_(gradient.T, hidden[part])
                else:
                    weight_gradient += gradient.T @ hidden[part]
        # The even part of the target, e/V, is the same everywhere: it needs no pass over logits.
        total_hidden, mean_weight = hidden.sum(0, dtype=dtype), weight.mean(0, dtype=dtype)
        sums[0] -= smoothing * (total_hidden * mean_weight).sum()
        if hidden_gradient is not None and weight_gradient is not None:
            hidden_gradient -= smoothing * mean_weight
            weight_gradient -= smoothing / len(weight) * total_hidden
            weight_gradient = weight_gradient.to(weight.dtype)
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        loss_sum, nll_sum, correct = sums.clone().unbind()
        ctx.mark_non_differentiable(nll_sum, correct)
        return loss_sum, nll_sum, correct

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        scale = gradients[0]
        return (
            hidden_gradient * scale.to(hidden_gradient.dtype),
            weight_gradient * scale.to(weight_gradient.dtype),
            *[None] * 3,
        )


def _measure(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The three sums of a chunk, and in place of logits d loss_sum / d logits; neither with e/V."""
    label_logits = logits.gather(1, labels[:, None])[:, 0]
    peak = logits.amax(1)
    probabilities = torch.softmax(logits, 1, out=logits)
    # The largest of exp(logit - peak) / sum is 1 / sum.
    log_normalizer = peak - probabilities.amax(1).log()
    nll = (log_normalizer - label_logits).sum()
    # Smoothed target q = (1 - e) onehot + e/V: loss = log Z - sum_v q_v logit_v.
    loss = nll + smoothing * label_logits.sum()
    # d loss / d logits = softmax - q
    probabilities[torch.arange(len(labels), device=labels.device), labels] -= 1 - smoothing
    return torch.stack((loss, nll, (label_logits == peak).sum().to(nll.dtype)))
