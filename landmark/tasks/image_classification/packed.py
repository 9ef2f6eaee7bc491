"""Convolutions and dense layers with their weights packed for oneDNN, activations fused.

PyTorch reorders the weights of a convolution at every call, and a ReLU reads and writes all maps
once more. oneDNN, its library for processors, can do without: torch.compile makes use of that,
after minutes of compiling; here the same operators are called directly. They are no promise of
PyTorch's, so they are tried first, and where they are missing networks stay as they are.
"""

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.models.convolutional.resnet import ResidualBlock
from landmark.models.image import ImageNetwork


class PackedConvolution(nn.Module):
    """A convolution, with a ReLU behind it if wanted; packed for the first images that come."""

    def __init__(self, convolution: nn.Conv2d, rectified: bool) -> None:
        super().__init__()
        self.plain: nn.Conv2d | None = convolution
        self.bias = convolution.bias
        self.window = (
            list(convolution.padding),
            list(convolution.stride),
            list(convolution.dilation),
            convolution.groups,
        )
        self.activation = "relu" if rectified else "none"

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H', W')"""
        packed: Tensor = torch.ops.mkldnn._convolution_pointwise(
            x, self.weight(x), self.bias, *self.window, self.activation, [], ""
        )
        return packed

    def add_to(self, x: Tensor, other: Tensor) -> Tensor:
        """ReLU(convolution + other), in one pass."""
        summed: Tensor = torch.ops.mkldnn._convolution_pointwise.binary(
            x, other, self.weight(x), self.bias, *self.window, "add", 1.0, "relu", [], ""
        )
        return summed

    def weight(self, x: Tensor) -> Tensor:
        """The packed weights; the plain ones go."""
        if self.plain is not None:
            self._packed = torch.ops.mkldnn._reorder_convolution_weight(
                self.plain.weight, *self.window, list(x.shape)
            )
            self.plain = None
        return self._packed


class PackedLinear(nn.Module):
    """A dense layer, with a ReLU behind it if wanted; packed for the first rows that come."""

    def __init__(self, linear: nn.Linear, rectified: bool) -> None:
        super().__init__()
        self.plain: nn.Linear | None = linear
        self.bias = linear.bias
        self.activation = "relu" if rectified else "none"

    def forward(self, x: Tensor) -> Tensor:
        """(B, F) -> (B, K)"""
        if self.plain is not None:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.plain.weight, len(x))
            self.plain = None
        packed: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._packed, self.bias, self.activation, [], ""
        )
        return packed


class PackedResidualBlock(nn.Module):
    """A residual block whose sum and last ReLU are part of its last convolution."""

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        *first, last = block.residual
        self.first = nn.Sequential(*first)
        self.last = last.get_submodule("convolution")
        self.shortcut = block.shortcut

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H/stride, W/stride)"""
        assert isinstance(self.last, PackedConvolution)
        assert self.shortcut is not None
        return self.last.add_to(
            self.first(x), self.shortcut(x).contiguous(memory_format=torch.channels_last)
        )


@torch.no_grad()
def pack(network: ImageNetwork) -> ImageNetwork:
    """Pack a folded network's layers in place; without oneDNN's operators, nothing is done."""
    if not can_pack():
        return network
    for module in list(network.modules()):
        children = list(module.named_children())
        for place, (name, layer) in enumerate(children):
            if not _is_packable(layer):
                continue
            follower = _follower(children[place + 1 :]) if _is_sequence(module) else None
            kind: Any = PackedConvolution if isinstance(layer, nn.Conv2d) else PackedLinear
            setattr(module, name, kind(layer, rectified=follower is not None))
            if follower is not None:
                setattr(module, follower, nn.Identity())
    for module in list(network.modules()):
        for name, block in list(module.named_children()):
            if isinstance(block, ResidualBlock) and _ends_packed(block):
                setattr(module, name, PackedResidualBlock(block))
    return network


def _is_packable(layer: nn.Module) -> bool:
    """Of single precision, and padded by zeros."""
    if isinstance(layer, nn.Conv2d):
        plain = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
        return plain and layer.weight.dtype == torch.float32
    return isinstance(layer, nn.Linear) and layer.weight.dtype == torch.float32


def _is_sequence(module: nn.Module) -> bool:
    """Whether its parts simply run one after the other."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _follower(children: list[tuple[str, nn.Module]]) -> str | None:
    """The name of a ReLU that comes next, but for what a folded norm has left."""
    for name, layer in children:
        if isinstance(layer, nn.ReLU):
            return name
        if not isinstance(layer, nn.Identity):
            return None
    return None


def _ends_packed(block: ResidualBlock) -> bool:
    last = block.residual[-1].get_submodule("convolution")
    return block.shortcut is not None and isinstance(last, PackedConvolution)


@cache
def can_pack() -> bool:
    """Whether the operators are there, and compute what they should."""
    if not torch.backends.mkldnn.is_available():
        return False
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 5, generator=generator).to(memory_format=torch.channels_last)
    layer, linear = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 2)
    try:
        with torch.inference_mode():
            expected = F.relu(layer(x))
            dense = linear(expected[:, :, 0, 0])
            found = PackedConvolution(layer, rectified=True)(x)
            also = PackedLinear(linear, rectified=False)(found[:, :, 0, 0].contiguous())
            summed = PackedConvolution(layer, rectified=False).add_to(x, torch.zeros_like(found))
    except (RuntimeError, AttributeError, TypeError):  # of another version
        return False
    pairs = ((found, expected), (also, dense), (summed, expected))
    return all(torch.allclose(one, other, atol=1e-4) for one, other in pairs)
