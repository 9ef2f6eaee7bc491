"""The catalog of systems, networks and recipes, by exact name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from landmark.core.configuration import Provenance, as_values, build
from landmark.core.registry import Registry
from landmark.tasks.card import CARDS, resolve
from landmark.tasks.task import RunConfig


@dataclass(frozen=True)
class PaperLayer:
    """A line of a published table of layers, and the parts of our network that it speaks of."""

    name: str
    modules: tuple[str, ...]
    output: str = ""
    """Height x width x channels."""
    parameters: str = ""
    operations: str = ""


@dataclass(frozen=True)
class PaperTable:
    """A published table of layers."""

    source: str
    layers: tuple[PaperLayer, ...]
    remark: str = ""


@dataclass(frozen=True)
class ReportedError:
    """How often a network names ImageNet's validation images wrongly, in percent."""

    top1: float | None
    top5: float | None
    measured: str
    """How: crops of each image, whose training."""


@dataclass(frozen=True)
class Network:
    """A named architecture that `landmark show` builds, counts and compares with its paper."""

    name: str
    kind: Callable[[Any], nn.Module]
    """Builds the network from its settings."""
    config: Any
    """The settings class of its shape."""
    compute: Callable[[Any], Any]
    """From the built module: one input's way through it, to count by."""
    published_parameters: int | None = None
    note: str = ""
    counted_for: str = ""
    """What `compute` sends through, for messages; "": an image, or a sequence of 128 tokens."""
    auxiliary: tuple[str, ...] = ()
    """Prefixes of parameters used in training only."""
    published_macs: int | None = None
    error: ReportedError | None = None
    table: PaperTable | None = None

    def build(self, **settings: Any) -> nn.Module:
        """The network with fresh weights; `settings` change its shape."""
        return self.kind(self.shape(settings))

    def shape(self, settings: Mapping[str, Any]) -> Any:
        """The settings of its shape with these changes; refuses those that it does not have."""
        values = {**as_values(self.config), **settings}
        return build(type(self.config), values, Provenance(self.name)) if settings else self.config


@dataclass(frozen=True)
class System:
    """A landmark: its paper and what we have of it."""

    name: str
    paper: str
    year: int
    task: str
    networks: tuple[Network, ...] = ()
    what: str = ""
    """One-line description."""

    @property
    def recipes(self) -> tuple["Recipe", ...]:
        """The recipes that train it."""
        return tuple(recipe for recipe in RECIPES.values() if recipe.system == self.name)


@dataclass(frozen=True)
class Recipe:
    """A complete run by name."""

    name: str
    system: str
    summary: str
    build: Callable[[], RunConfig] = field(repr=False)
    minutes: float | None = None
    """Training time in minutes for `reaches`, on two cores or one thread."""
    reaches: str = ""
    """Measured result, with its metric."""


SYSTEMS: Registry[System] = Registry("system")
NETWORKS: Registry[Network] = Registry("network")
RECIPES: Registry[Recipe] = Registry("recipe")


def add_system(system: System) -> None:
    """Register a system and its networks."""
    SYSTEMS.add(system.name, system)
    for network in system.networks:
        NETWORKS.add(network.name, network)


def recipe(
    name: str, *, system: str, summary: str, minutes: float | None = None, reaches: str = ""
) -> Callable[[Callable[[], RunConfig]], Callable[[], RunConfig]]:
    """Register the decorated function as the recipe of that name."""

    def register(build: Callable[[], RunConfig]) -> Callable[[], RunConfig]:
        RECIPES.add(name, Recipe(name, system, summary, build, minutes, reaches))
        return build

    return register


def system_of(network: str) -> System:
    """The system that a network belongs to."""
    return next(s for s in SYSTEMS.values() if any(n.name == network for n in s.networks))


_loaded: set[str] = set()


def load_catalog() -> None:
    """Import every module of the tasks that registers recipes, systems and networks."""
    for card in CARDS.values():
        if card.name not in _loaded:
            _loaded.add(card.name)
            for module in card.recipes:
                resolve(module)


def systems() -> tuple[System, ...]:
    """Every system: its name, paper, year and task, its networks and its recipes."""
    load_catalog()
    return tuple(SYSTEMS.values())
