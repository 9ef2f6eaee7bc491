"""Batch norm folded into the layer before it: the same outputs in one step less.

In use, batch norm is y = (x - mean) / sqrt(variance + epsilon) * weight + bias with fixed numbers:
a scale and a shift a channel, which the weights and the bias of a convolution can take up (Jacob
et al. 2018, arXiv 1712.05877, section 3.2).
"""

import copy
from collections import Counter
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)
Layer = nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.Linear
Norm = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d


@torch.no_grad()
def fold(network: Network) -> Network:
    """A copy for use, not for training, without the norms that directly follow their layer.

    Only neighbours in an nn.Sequential are folded: there it is certain that the norm reads that
    layer and that nothing else does. A norm behind anything else, as pooling, stays.
    """
    folded = copy.deepcopy(network).eval()
    uses = Counter(id(module) for _, module in folded.named_modules(remove_duplicate=False))
    for sequence in folded.modules():
        if not isinstance(sequence, nn.Sequential) or _runs_otherwise(sequence):
            continue
        for (_, layer), (name, norm) in pairwise(list(sequence.named_children())):
            if not isinstance(layer, Layer) or not isinstance(norm, Norm):
                continue
            if uses[id(layer)] == 1 and norm.running_mean is not None:
                _take_up(layer, norm)
                setattr(sequence, name, nn.Identity().eval())
    return folded


def _runs_otherwise(sequence: nn.Sequential) -> bool:
    """Whether a class of its own does not simply run its parts one after the other."""
    return type(sequence).forward is not nn.Sequential.forward


def _take_up(layer: Layer, norm: Norm) -> None:
    """Let a layer compute what the norm would make of its output."""
    scale, shift = scale_and_shift(norm)  # (C,)
    weight = layer.weight.double()
    scaled = weight * scale.view(-1, *[1] * (weight.dim() - 1))
    bias = 0 if layer.bias is None else layer.bias.double() * scale
    layer.weight = nn.Parameter(scaled.to(layer.weight), requires_grad=False)
    layer.bias = nn.Parameter((bias + shift).to(layer.weight), requires_grad=False)


def scale_and_shift(norm: Norm) -> tuple[Tensor, Tensor]:
    """What batch norm in use multiplies each channel by, and what it adds; in double precision."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = (norm.running_var.double() + norm.eps).rsqrt()
    if norm.weight is not None:
        scale = scale * norm.weight.double()
    shift = -norm.running_mean.double() * scale
    if norm.bias is not None:
        shift = shift + norm.bias.double()
    return scale, shift
