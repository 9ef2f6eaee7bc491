"""Saliency: where feature maps show evidence for a class, and which pixels move its score.

Grad-CAM: Selvaraju et al. 2017, arXiv 1610.02391, equations 1 and 2. For a network that ends in
global average pooling and one dense layer it is CAM (Zhou et al. 2016) but for a factor. Patches of
a Vision Transformer are maps as well. SmoothGrad: Smilkov et al. 2017, arXiv 1706.03825.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.probes.image.layer import as_map, find_layer, list_layers


def grad_cam(model: nn.Module, image: Tensor, target: int, layer: str) -> Tensor:
    """How much each place speaks for a class; what speaks against it is 0. (1, C, H, W) -> (h, w)

    alpha_k is the mean of d score / d A_k over places; the map is ReLU(sum_k alpha_k A_k).
    """
    find_layer(model, image, layer)
    activation, slope = _slopes(model, image, target, [layer])[layer]
    alpha = slope.mean((2, 3), keepdim=True)
    return (alpha * activation).sum(1)[0].relu().float().cpu()


def smooth_grad(
    model: nn.Module, image: Tensor, target: int, samples: int = 8, noise: float = 0.15
) -> Tensor:
    """How much each pixel moves the score of a class. (1, C, H, W) -> (H, W)

    The gradient's mean over noisy copies of the image, its largest channel. noise: the standard
    deviation, as a share of the range of the image's values.
    """
    deviation = noise * float(image.max() - image.min())
    generator = torch.Generator().manual_seed(1)
    total = torch.zeros_like(image)
    for _ in range(samples):  # one by one: a large network's activations are kept for each
        drawn = torch.randn(image.shape, generator=generator).to(image)
        pixels = (image.detach() + deviation * drawn).requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(model(pixels)[0, target], [pixels])
        total += gradient
    return (total / samples).abs()[0].amax(0).float().cpu()


def speaking_layer(model: nn.Module, image: Tensor, target: int) -> str:
    """The last layer of more than one place which the score depends on: where Grad-CAM looks.

    The last patches of a transformer that reads its class token alone are none.
    """
    layers = [layer for layer in list_layers(model, image) if layer.height * layer.width > 1]
    found = _slopes(model, image, target, [layer.name for layer in layers])
    speaking = [name for name, (_, slope) in found.items() if slope.any()]
    if not speaking:
        raise UserError("no layer with maps has a say in the class: is the network trained?")
    return speaking[-1]


def _slopes(
    model: nn.Module, image: Tensor, target: int, layers: list[str]
) -> dict[str, tuple[Tensor, Tensor]]:
    """The maps of layers, and the gradient of a class's score by them, in order of computing."""
    kept: dict[str, Tensor] = {}

    def keeper(name: str) -> Callable[[nn.Module, Any, Tensor], Tensor]:
        def keep(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            kept.pop(name, None)
            kept[name] = output
            return output.clone()  # what follows may work in place

        return keep

    handles = [model.get_submodule(name).register_forward_hook(keeper(name)) for name in layers]
    try:
        with torch.enable_grad():
            # An image that wants a gradient gives one to all layers, also to frozen ones.
            score = model(image.detach().clone().requires_grad_())[0, target]
            slopes = torch.autograd.grad(
                score, list(kept.values()), allow_unused=True, materialize_grads=True
            )
    finally:
        for handle in handles:
            handle.remove()
    found = {}
    for (name, output), slope in zip(kept.items(), slopes, strict=True):
        maps, gradient = as_map(output.detach(), 1), as_map(slope, 1)
        if maps is not None and gradient is not None:
            found[name] = maps, gradient
    return found
