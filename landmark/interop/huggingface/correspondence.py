"""The table of tensor names, ours and Hugging Face's, for import and export."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.interop.huggingface.folder import Weights


@dataclass(frozen=True)
class TensorPart:
    """A tensor of ours, and those of theirs that it is made of, one below the other."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False
    """Whether theirs is written as inputs x outputs."""


def layers(
    table: Mapping[str, Any], ours: str, theirs: str, transposed: str = ""
) -> list[TensorPart]:
    """The weight and bias of each layer in a table of names; values may name several of theirs.

    `transposed`: what the names of their layers begin with that are written the other way.
    """
    parts = []
    for name, others in table.items():
        several = (others,) if isinstance(others, str) else tuple(others)
        turned = bool(transposed) and several[0].startswith(tuple(transposed.split()))
        for kind in ("weight", "bias"):
            parts.append(
                TensorPart(
                    f"{ours}{name}.{kind}",
                    tuple(f"{theirs}{other}.{kind}" for other in several),
                    turned and kind == "weight",
                )
            )
    return parts


def gather(
    parts: Iterable[TensorPart], shapes: Mapping[str, torch.Size], weights: Weights
) -> dict[str, Tensor]:
    """Tensors of ours, taken from theirs; each must be there in its shape.

    The keys' bias, which softmax ignores, is set to zero: ours is added to some keys only (see
    layers/attention).
    """
    gathered = {}
    for part in parts:
        rows, *rest = shapes[part.ours]
        shape = (rows // len(part.theirs), *rest)
        taken = [
            weights.take(name, shape[::-1] if part.transposed else shape) for name in part.theirs
        ]
        whole = torch.cat([tensor.T if part.transposed else tensor for tensor in taken])
        if part.ours.endswith("attention.input.bias"):
            whole.chunk(3)[1].zero_()
        gathered[part.ours] = whole.contiguous()
    return gathered


def scatter(parts: Iterable[TensorPart], state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of theirs, made from ours."""
    scattered = {}
    for part in parts:
        pieces = state[part.ours].detach().float().chunk(len(part.theirs))
        for name, piece in zip(part.theirs, pieces, strict=True):
            scattered[name] = (piece.T if part.transposed else piece).contiguous().clone()
    return scattered


def shapes_of(model: nn.Module) -> dict[str, torch.Size]:
    """The shape of every parameter, of shared ones once."""
    return {name: parameter.shape for name, parameter in model.named_parameters()}


def demand(config: Mapping[str, Any], where: str, wanted: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse settings that our model does not have; what a configuration leaves out is usual."""
    for key, allowed in wanted.items():
        if key in config and config[key] not in allowed:
            known = " or ".join(repr(value) for value in allowed if value is not None)
            raise UserError(f"{where}: {key} {config[key]!r} is not supported: only {known}")


def number(config: Mapping[str, Any], where: str, key: str, default: int | None = None) -> int:
    """A whole number of a configuration."""
    value = config.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UserError(f"{where}: {key} is {value!r}: it must be a whole number")
    return value


def depth(config: Mapping[str, Any], where: str, key: str, weights: Weights) -> int:
    """A number of layers, each of which must have weights."""
    layers = number(config, where, key)
    if layers > len(weights.tensors):
        raise UserError(
            f"{where}: {key} is {layers:,}, but there are {len(weights.tensors):,} tensors"
        )
    return layers


def share(config: Mapping[str, Any], key: str, default: float = 0.1) -> float:
    """A dropout rate; one that training could not have used is the default."""
    value = config.get(key, default)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1 else default
