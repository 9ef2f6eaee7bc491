"""Named networks counted, and laid beside what is published of them."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch

from landmark.core.errors import UserError
from landmark.models.adversarial.players import Players
from landmark.models.go.network import GoNetwork
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.probes.anatomy import Anatomy, dissect
from landmark.tasks.catalog import (
    NETWORKS,
    Network,
    PaperLayer,
    System,
    load_catalog,
    system_of,
)


@dataclass(frozen=True)
class CountedLayer:
    """A line of a published table with what our network has there."""

    paper: PaperLayer
    output: str
    parameters: int
    macs: int


class Stage(NamedTuple):
    """A part of an image network that fine-tuning can freeze; the last is the head."""

    name: str
    parameters: int


@dataclass(frozen=True)
class CountedNetwork:
    """A network, its system, and what was counted of it."""

    network: Network
    system: System
    anatomy: Anatomy
    counted_for: str
    """What goes through it once, for its MACs."""

    def beside_the_paper(self) -> list[CountedLayer]:
        """The published table of its layers, if there is one, with our counts."""
        return (
            [self._count(layer) for layer in self.network.table.layers]
            if self.network.table
            else []
        )

    def _count(self, layer: PaperLayer) -> CountedLayer:
        inside = tuple(f"{module}." for module in layer.modules)
        rows = [row for row in self.anatomy.layers if f"{row.name}.".startswith(inside)]
        return CountedLayer(
            layer,
            image_shape(self.anatomy.outputs[layer.modules[-1]]),
            sum(row.parameters for row in rows),
            sum(row.macs for row in rows),
        )


def image_shape(output: tuple[int, ...]) -> str:
    """As papers write it: (1, C, H, W) is HxWxC."""
    _, *shape = output
    return "x".join(str(size) for size in (*shape[1:], *shape[:1]))


@cache
def count_network(name: str) -> CountedNetwork:
    """Build a network of the catalogue without its numbers, and count: once, it takes a second."""
    load_catalog()
    network = NETWORKS[name]
    with torch.device("meta"):
        module = network.build()
        anatomy = dissect(module, network.compute, network.auxiliary)
    counted_for = network.counted_for or _counted_for(module)
    return CountedNetwork(network, system_of(name), anatomy, counted_for)


def stages_of(name: str) -> list[Stage]:
    """The stages of an image network from below, and its head."""
    load_catalog()
    with torch.device("meta"):
        module = NETWORKS[name].build()
    if not isinstance(module, ImageNetwork):
        raise UserError(f"{name}: only image networks have stages to freeze")
    parts = {**module.named_stages(), module.head: module.get_submodule(module.head)}
    return [
        Stage(part, sum(weight.numel() for weight in stage.parameters()))
        for part, stage in parts.items()
    ]


def count_reported() -> list[CountedNetwork]:
    """Every network of which an error on ImageNet is published."""
    load_catalog()
    return [count_network(name) for name in NETWORKS if NETWORKS[name].error]


def _counted_for(module: torch.nn.Module) -> str:
    if isinstance(module, Players):
        return "one sample, made and judged"
    if isinstance(module, GoNetwork):
        return f"one position of {module.config.size}x{module.config.size}"
    if not isinstance(module, ImageNetwork):
        return "one sequence of 128 tokens a side"
    config = module.config
    assert isinstance(config, ImageNetworkConfig)
    return f"one image of {config.image_size} x {config.image_size}"
