"""The anatomy of a network: each layer's shape, parameters and multiply-accumulates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from landmark.layers.alignment import AttentionOutput
from landmark.layers.attention import MultiHeadAttention
from landmark.layers.cell import Cell
from landmark.layers.dropout import Dropout


@dataclass(frozen=True)
class LayerRow:
    """One line of the layer table."""

    name: str
    kind: str
    output: tuple[int, ...]
    parameters: int
    macs: int


@dataclass(frozen=True)
class Anatomy:
    """What a network is made of, counted from the built module."""

    layers: tuple[LayerRow, ...]
    parameters: int
    auxiliary_parameters: int
    macs: int
    outputs: Mapping[str, tuple[int, ...]]
    """The shape that each module gave, those that are made of others too."""


def dissect(
    module: nn.Module, compute: Callable[[Any], Any], auxiliary: tuple[str, ...] = ()
) -> Anatomy:
    """Let `compute` run a module once (on the meta device) and count; shared parameters once."""
    shapes: dict[str, tuple[int, ...]] = {}
    handles = [_watch(name, child, shapes) for name, child in module.named_modules() if name]
    kinds = (MultiHeadAttention, Cell)
    observed = [child for child in module.modules() if isinstance(child, kinds)]
    for child in observed:  # written out, its products are counted
        child.observer = _ignore
    was_training = module.training
    counter = FlopCounterMode(display=False)
    try:
        with counter, torch.no_grad():
            compute(module.eval())
    finally:
        for handle in handles:
            handle.remove()
        for child in observed:
            child.observer = None
        module.train(was_training)
    flops = {
        key.partition(".")[2]: sum(ops.values()) for key, ops in counter.get_flop_counts().items()
    }
    owned = _owned_parameters(module)
    rows = tuple(
        LayerRow(
            name,
            type(child).__name__,
            shapes[name],
            sum(count for owner, count in owned.items() if f"{owner}.".startswith(f"{name}.")),
            flops.get(name, 0) // 2,
        )
        for name, child in module.named_modules()
        if name in shapes and _is_row(name, child, module)
    )
    counts = [
        (name.startswith(auxiliary) if auxiliary else False, parameter.numel())
        for name, parameter in module.named_parameters()
    ]
    extra = sum(number for is_auxiliary, number in counts if is_auxiliary)
    total = sum(number for _, number in counts) - extra
    return Anatomy(rows, total, extra, counter.get_total_flops() // 2, shapes)


def _is_row(name: str, child: nn.Module, module: nn.Module) -> bool:
    """Attention is one row; of everything else, the innermost modules that compute."""
    kinds = (MultiHeadAttention, AttentionOutput)
    parts = name.split(".")
    around = [module.get_submodule(".".join(parts[:depth])) for depth in range(1, len(parts))]
    if any(isinstance(outer, kinds) for outer in around):
        return False
    idle = isinstance(child, (nn.Identity, Dropout))
    return isinstance(child, kinds) or not (idle or any(True for _ in child.children()))


def _watch(name: str, child: nn.Module, shapes: dict[str, tuple[int, ...]]) -> Any:
    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, Tensor):
            shapes[name] = tuple(first.shape)

    return child.register_forward_hook(note)


def _owned_parameters(module: nn.Module) -> dict[str, int]:
    """Each parameter counted at the first module that holds it."""
    owners: dict[str, int] = {}
    for name, parameter in module.named_parameters():
        owner = name.rpartition(".")[0]
        owners[owner] = owners.get(owner, 0) + parameter.numel()
    return owners


def _ignore(seen: object) -> None:
    return None
