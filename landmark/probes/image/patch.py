"""Attention and position similarity of a Vision Transformer.

Attention rollout: Abnar and Zuidema 2020, arXiv 2005.00928, section 3. Attention distance and the
similarity of positions: Dosovitskiy et al. 2021, arXiv 2010.11929, figure 7.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.probes.attention import observed_attention


@dataclass(frozen=True)
class PatchHead:
    """Where a head looks, in the mean over all patches that ask."""

    layer: int
    head: int
    """Both numbered from 1."""
    distance: float
    """How far away it looks, in pixels."""
    to_class: float
    """The share that goes to the class token."""
    entropy: float
    """Entropy of the attention in bits."""


@torch.inference_mode()
def patch_attention(model: nn.Module, image: Tensor) -> Tensor:
    """Weights from each token of an image to each. (1, C, H, W) -> (L, H, T, T)"""
    with observed_attention(model) as seen:
        model(image)
    if not seen:
        raise UserError("the network has no attention to show: this figure is a transformer's")
    return torch.stack([weights[0][0] for weights in seen.values()]).float().cpu()


def lay_out(tokens: int) -> tuple[int, int]:
    """How many patches a side, and how many tokens stand before them: 1 for the class, or none."""
    side = math.isqrt(tokens)
    extra = tokens - side * side
    if side < 1 or extra > 1:
        raise UserError(f"{tokens} tokens are no square of patches: this figure cannot be drawn")
    return side, extra


def rollout(weights: Tensor) -> Tensor:
    """How much of each token's state comes from each, through all layers. -> (T, T)

    The residual sum keeps half of each token; heads count alike. weights: (L, H, T, T)
    """
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    flow = identity
    for layer in weights.mean(1):
        flow = (0.5 * layer + 0.5 * identity) @ flow
    return flow


def read_view(weights: Tensor) -> Tensor:
    """What the last layer's reading takes from each patch. (..., T, T) -> (..., side, side)

    The class token's row; without one, the mean of all rows, as all patches are read.
    """
    side, extra = lay_out(weights.shape[-1])
    taken = weights[..., 0, 1:] if extra else weights.mean(-2)
    return taken.unflatten(-1, (side, side))


def patch_view(weights: Tensor, row: int, column: int) -> Tensor:
    """What one patch takes from each patch. (..., T, T) -> (..., side, side)"""
    side, extra = lay_out(weights.shape[-1])
    if not (0 <= row < side and 0 <= column < side):
        raise UserError(
            f"patch {row + 1},{column + 1}: the image has {side} rows and columns of patches"
        )
    return weights[..., extra + row * side + column, extra:].unflatten(-1, (side, side))


def describe_patch_heads(weights: Tensor, patch_size: int) -> list[PatchHead]:
    """The habits of every head. weights: (L, H, T, T)"""
    side, extra = lay_out(weights.shape[-1])
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    places = torch.stack((rows.flatten(), columns.flatten()), 1).float() * patch_size
    apart = torch.cdist(places, places)
    asking = weights[..., extra:, :]
    between = asking[..., extra:]
    # Of what goes to patches at all: how far, weighted.
    distance = (between * apart).sum(-1) / between.sum(-1).clamp(min=1e-12)
    entropy = torch.special.entr(asking).sum(-1) / math.log(2)
    to_class = asking[..., :extra].sum(-1)
    facts = torch.stack((distance.mean(-1), to_class.mean(-1), entropy.mean(-1)), -1).tolist()
    return [
        PatchHead(layer + 1, head + 1, *facts[layer][head])
        for layer in range(len(facts))
        for head in range(len(facts[layer]))
    ]


def position_similarity(table: Tensor) -> Tensor:
    """The cosine of each patch's position with every other's. (T, D) -> (side, side, side, side)

    The first two say whose row it is, the last two with whom; the class token is left out.
    """
    side, extra = lay_out(len(table))
    unit = nn.functional.normalize(table[extra:].double(), dim=-1)
    return (unit @ unit.T).view(side, side, side, side).float()
