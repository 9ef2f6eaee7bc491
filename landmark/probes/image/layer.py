"""The layers of an image network and their feature maps."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.registry import nearest


@dataclass(frozen=True)
class MapLayer:
    """A layer whose output still has places."""

    name: str
    kind: str
    channels: int
    height: int
    width: int


def as_map(output: Any, batch: int) -> Tensor | None:
    """What a layer gave as maps (B, C, H, W), if its units have places.

    Tokens of patches, (B * T, D) or (B, T, D), are laid out as the square they were cut from;
    one token more than that is the class token, which has no place. So are maps in a column, as
    Network in Network has its classes.
    """
    if not isinstance(output, Tensor) or not output.is_floating_point():
        return None
    if output.dim() == 4:
        side = math.isqrt(output.shape[2])
        if output.shape[3] == 1 and side * side == output.shape[2]:
            output = output.unflatten(2, (side, side))[..., 0]
        return output if len(output) == batch else None
    if output.dim() not in (2, 3) or len(output) % batch:
        return None
    tokens = output.reshape(batch, -1, output.shape[-1])
    count = tokens.shape[1]
    side = math.isqrt(count)
    if side < 2 or count - side * side > 1:
        return None
    patches = tokens[:, count - side * side :]
    return patches.transpose(1, 2).unflatten(2, (side, side))


@torch.no_grad()
def list_layers(model: nn.Module, images: Tensor) -> list[MapLayer]:
    """Every layer whose output has places, in the order of computing; blocks after their parts."""
    found: dict[str, MapLayer] = {}

    def note(name: str, module: nn.Module, output: Any) -> None:
        maps = as_map(output, len(images))
        found.pop(name, None)
        if maps is not None:
            found[name] = MapLayer(name, type(module).__name__, *maps.shape[1:])

    _watch(model, note, lambda: model(images))
    return list(found.values())


def find_layer(model: nn.Module, images: Tensor, name: str) -> MapLayer:
    """A layer by its name; a name that is not there, or has no maps, is a user's mistake."""
    layers = {layer.name: layer for layer in list_layers(model, images)}
    if name in layers:
        return layers[name]
    if name in dict(model.named_modules()):
        raise UserError(f"layer {name!r} has no maps: its units have no places in the image")
    raise UserError(f"the network has no layer {name!r}: {nearest(name, layers)}")


@torch.no_grad()
def feature_maps(model: nn.Module, images: Tensor, name: str) -> Tensor:
    """What a layer gives for images. (B, C, H, W) -> (B, K, h, w)"""
    find_layer(model, images, name)
    kept: list[Tensor] = []

    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        maps = as_map(output, len(images))
        if maps is not None:
            kept.append(maps.clone())  # a ReLU in place would overwrite it

    handle = model.get_submodule(name).register_forward_hook(keep)
    try:
        model(images)
    finally:
        handle.remove()
    return kept[-1].float().cpu()


def overview(layers: list[MapLayer], most: int) -> list[MapLayer]:
    """At most so many layers, evenly from first to last, of those that change what is seen."""
    plain = [layer for layer in layers if layer.kind in _SHOWN] or layers
    if len(plain) <= most:
        return plain
    steps = (len(plain) - 1) / (most - 1)
    return [plain[round(number * steps)] for number in range(most)]


_SHOWN = ("Conv2d", "MaxPool2d", "AvgPool2d", "EncoderBlock")


def _watch(
    model: nn.Module, note: Callable[[str, nn.Module, Any], None], compute: Callable[[], Any]
) -> None:
    """Compute once while `note` is told what every module inside gives."""

    def told(name: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda module, inputs, output: note(name, module, output)

    handles = [
        module.register_forward_hook(told(name)) for name, module in model.named_modules() if name
    ]
    try:
        compute()
    finally:
        for handle in handles:
            handle.remove()
