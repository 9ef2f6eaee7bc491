"""The size of each layer's updates at each training step.

An optimiser is watched from outside, by torch's hooks around its step. Matrices and kernels are
looked at, biases and norms are not: many begin at zero, where a share of their size says nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

MOST_LAYERS = 12


@dataclass
class LayerUpdates:
    """One layer, step by step."""

    layer: str
    shares: list[float] = field(default_factory=list)
    """The norm of the update over that of the weights before it."""
    rates: list[float] = field(default_factory=list)
    """The norm of the update over that of the gradient: the rate that plain descent would need."""


class UpdateWatch:
    """Records every step of an optimiser until it is closed."""

    def __init__(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        learnt = {n: p for n, p in network.named_parameters() if p.requires_grad}
        chosen = {n: p for n, p in learnt.items() if p.dim() > 1} or learnt
        self.parameters: dict[str, list[Tensor]] = {}
        for name, layer in group_layers(chosen).items():
            self.parameters.setdefault(layer, []).append(chosen[name])
        self.layers = {layer: LayerUpdates(layer) for layer in self.parameters}
        self.learning_rates: list[float] = []
        self._before: dict[str, list[Tensor]] = {}
        self._optimizer = optimizer
        self._hooks = (
            optimizer.register_step_pre_hook(lambda *_: self._remember()),
            optimizer.register_step_post_hook(lambda *_: self._compare()),
        )

    @torch.no_grad()
    def _remember(self) -> None:
        self.learning_rates.append(float(self._optimizer.param_groups[0]["lr"]))
        self._before = {
            layer: [parameter.clone() for parameter in parameters]
            for layer, parameters in self.parameters.items()
        }

    @torch.no_grad()
    def _compare(self) -> None:
        for layer, parameters in self.parameters.items():
            before = self._before[layer]
            moved = _norm(now - then for now, then in zip(parameters, before, strict=True))
            gradient = _norm(p.grad for p in parameters if p.grad is not None)
            self.layers[layer].shares.append(moved / max(_norm(before), 1e-30))
            self.layers[layer].rates.append(moved / max(gradient, 1e-30))
        self._before = {}

    def close(self) -> None:
        """Look on no longer."""
        for hook in self._hooks:
            hook.remove()


def group_layers(names: Iterable[str], most: int = MOST_LAYERS) -> Mapping[str, str]:
    """Parameters to layers: the modules that hold them; where those are many, what holds those."""
    modules = {name: name.rpartition(".")[0] or name for name in names}
    deepest = max((module.count(".") for module in modules.values()), default=0)
    for depth in range(deepest + 1, 0, -1):
        layers = {name: ".".join(module.split(".")[:depth]) for name, module in modules.items()}
        if len(set(layers.values())) <= most:
            break
    return layers


def _norm(tensors: Iterable[Tensor]) -> float:
    """Of all numbers of all tensors together."""
    return sum(float(tensor.double().square().sum()) for tensor in tensors) ** 0.5
