"""The index of systems and recipes, readable without torch: for lists, suggestions, completion.

Importing the recipes takes torch, and torch two seconds. index.json lists what they register;
`python -m landmark.tasks.index` writes it, and a test fails where it is out of date. Tasks that it
does not list, as a user's own, are read from their modules.
"""

import difflib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.storage import write_durably
from landmark.tasks.card import CARDS

PATH = Path(__file__).with_name("index.json")
_SUGGESTED = 4  # names that an error gives


@dataclass(frozen=True)
class NetworkFacts:
    """A variant of a system."""

    name: str
    parameters: int
    """As counted, without what only helps training."""
    published_parameters: int | None
    note: str


@dataclass(frozen=True)
class SystemFacts:
    """A landmark and its variants."""

    name: str
    paper: str
    year: int
    task: str
    what: str
    networks: tuple[NetworkFacts, ...] = ()


@dataclass(frozen=True)
class RecipeFacts:
    """A recipe, with the task of its runs and what was measured of it."""

    name: str
    system: str
    task: str
    summary: str
    minutes: float | None
    reaches: str


@dataclass(frozen=True)
class Index:
    """All systems and recipes by name."""

    systems: dict[str, SystemFacts]
    recipes: dict[str, RecipeFacts]

    @property
    def networks(self) -> dict[str, NetworkFacts]:
        return {n.name: n for system in self.systems.values() for n in system.networks}

    def recipes_of(self, system: str) -> list[RecipeFacts]:
        return [recipe for recipe in self.recipes.values() if recipe.system == system]


def read_index() -> Index:
    """The index of the tasks that are registered."""
    return _read(tuple(CARDS))


@cache
def _read(tasks: tuple[str, ...]) -> Index:
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    systems = {
        entry["name"]: SystemFacts(
            **entry | {"networks": tuple(NetworkFacts(**network) for network in entry["networks"])}
        )
        for entry in stored["systems"]
    }
    index = Index(systems, {entry["name"]: RecipeFacts(**entry) for entry in stored["recipes"]})
    return index if set(tasks) <= set(stored["tasks"]) else complete(index)


def complete(index: Index) -> Index:
    """With what the tasks' modules register beside; networks are built without their numbers."""
    from landmark.tasks.catalog import RECIPES, SYSTEMS, load_catalog

    load_catalog()
    systems = {
        s.name: SystemFacts(s.name, s.paper, s.year, s.task, s.what, tuple(map(_count, s.networks)))
        for s in SYSTEMS.values()
        if s.name not in index.systems
    }
    recipes = {
        r.name: RecipeFacts(r.name, r.system, r.build().task, r.summary, r.minutes, r.reaches)
        for r in RECIPES.values()
        if r.name not in index.recipes
    }
    return Index(index.systems | systems, index.recipes | recipes)


def _count(network: Any) -> NetworkFacts:
    import torch

    with torch.device("meta"):
        module = network.build()
    counted = sum(
        parameter.numel()
        for name, parameter in module.named_parameters()
        if not name.startswith(network.auxiliary)
    )
    return NetworkFacts(network.name, counted, network.published_parameters, network.note)


def index_text() -> str:
    """What index.json should hold: a line an entry."""
    index = complete(Index({}, {}))

    def listed(entries: Iterable[Any]) -> str:
        rows = (json.dumps(asdict(entry), ensure_ascii=False) for entry in entries)
        return ",\n".join(f"  {row}" for row in rows)

    return (
        f'{{"tasks": {json.dumps(list(CARDS))},\n'
        f'"systems": [\n{listed(index.systems.values())}\n],\n'
        f'"recipes": [\n{listed(index.recipes.values())}\n]}}\n'
    )


def check_recipe(name: str) -> None:
    """Refuse what is neither a recipe's name nor a YAML file, and say what was perhaps meant."""
    index, path = _index_for(name), Path(name)
    if name in index.recipes or path.is_file():
        return
    if (path / "recipe.yaml").is_file():
        raise UserError(
            f"{name}: is a run, not a recipe: `landmark train {path / 'recipe.yaml'} --run {name} "
            f"--resume` goes on with it; with another --run its recipe is trained from scratch"
        )
    if path.exists():
        raise UserError(f"{name}: is a folder: name a recipe (landmark list) or a YAML file")
    if name.endswith((".yaml", ".yml")):
        raise UserError(f"{name}: there is no such file")
    owner = _owner(index, name)
    if owner:
        recipes = ", ".join(recipe.name for recipe in index.recipes_of(owner.name))
        raise UserError(f"{_kind(owner, name)}, not a recipe; its recipes: {recipes or 'none'}")
    raise UserError(f"unknown recipe {name!r}: {_nearest(name, index.recipes)}")


def check_system(name: str) -> None:
    """Refuse what is no system's name."""
    index = _index_for(name)
    if name in index.systems:
        return
    owner = _owner(index, name)
    if owner:
        raise UserError(f"{_kind(owner, name)}: `landmark show {name}` counts it")
    if name in index.recipes:
        system = index.recipes[name].system
        raise UserError(f"{_of_recipe(index, name)}: `landmark list {system}` lists it")
    raise UserError(f"unknown system {name!r}: {_nearest(name, index.systems)}")


def check_network(name: str) -> None:
    """Refuse what is no network's name."""
    index = _index_for(name)
    if name in index.networks:
        return
    if name in index.systems:
        variants = ", ".join(network.name for network in index.systems[name].networks)
        raise UserError(f"{name!r} is a system; its networks: {variants or 'none'}")
    if name in index.recipes:
        raise UserError(f"{_of_recipe(index, name)}: `landmark recipe {name}` prints it")
    raise UserError(f"unknown network {name!r}: {_nearest(name, index.networks)}")


def _owner(index: Index, name: str) -> SystemFacts | None:
    """The system that is called so, or that has a network of that name."""
    if name in index.systems:
        return index.systems[name]
    having = (s for s in index.systems.values() if any(n.name == name for n in s.networks))
    return next(having, None)


def _kind(owner: SystemFacts, name: str) -> str:
    return f"{name!r} is a {'system' if name == owner.name else f'network of {owner.name}'}"


def _of_recipe(index: Index, name: str) -> str:
    return f"{name!r} is a recipe of the system {index.recipes[name].system}"


def _nearest(name: str, known: Iterable[str]) -> str:
    """Names that have this one in them or are close; else the command that lists all of them."""
    known = list(known)
    inside = [entry for entry in known if name in entry] if len(name) > 2 else []
    if inside:
        return f"did you mean {' or '.join(inside[:_SUGGESTED])}?"
    if difflib.get_close_matches(name, known, n=1, cutoff=0.6):
        return nearest(name, known)
    return "`landmark list` shows what there is"


def _index_for(name: str) -> Index:
    """The index; completed where it does not know a name that the tasks' modules speak of."""
    index = read_index()
    if any(name in known for known in (index.systems, index.networks, index.recipes)):
        return index
    for module in (module for card in CARDS.values() for module in card.recipes):
        spec = find_spec(module)
        if spec and spec.origin and f'"{name}"' in Path(spec.origin).read_text("utf-8"):
            return complete(index)
    return index


if __name__ == "__main__":
    write_durably(PATH, index_text().encode())
