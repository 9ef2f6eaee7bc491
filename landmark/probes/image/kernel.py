"""The kernels of a convolution, and what is common to many of them.

Krizhevsky et al. 2012, figure 3: 96 kernels of 11 x 11 x 3, the first layer of AlexNet.
Dosovitskiy et al. 2021, arXiv 2010.11929, figure 7: the principal components of the patch
embedding of a Vision Transformer, which is a convolution too.
"""

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.registry import nearest


def kernels(model: nn.Module, layer: str | None = None) -> tuple[str, Tensor]:
    """The name of a convolution (default: the first) and its kernels. (O, C, h, w)"""
    found = {
        name: module for name, module in model.named_modules() if isinstance(module, nn.Conv2d)
    }
    if not found:
        raise UserError("the network has no convolution to show the kernels of")
    if layer is None:
        layer = next(iter(found))
    if layer not in found:
        raise UserError(f"the network has no convolution {layer!r}: {nearest(layer, found)}")
    return layer, found[layer].weight.detach().float().cpu()


def principal_kernels(weights: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The directions in which kernels differ most, and each one's share. -> (count, C, h, w)

    A component's sign is nothing to its meaning: its largest value is taken as positive.
    """
    flat = weights.flatten(1).double()
    if not 1 <= count <= min(flat.shape):
        raise UserError(
            f"{count} components: {len(flat)} kernels of {flat.shape[1]} weights have 1 to "
            f"{min(flat.shape)}"
        )
    _, values, directions = torch.linalg.svd(flat - flat.mean(0), full_matrices=False)
    shares = values.square() / values.square().sum().clamp(min=1e-300)
    chosen = directions[:count]
    largest = chosen.gather(1, chosen.abs().argmax(1, keepdim=True))
    return (chosen * largest.sign()).view(count, *weights.shape[1:]).float(), shares[:count].float()
