"""Shell completion: names of recipes, networks, systems and runs."""

from collections.abc import Iterable
from pathlib import Path

from landmark.tasks.index import read_index


def complete_recipe(incomplete: str) -> list[str]:
    """Recipes by name, and YAML files."""
    return _begins(read_index().recipes, incomplete) + _paths(incomplete, ("*.yaml", "*.yml"))


def complete_network(incomplete: str) -> list[str]:
    return _begins(read_index().networks, incomplete)


def complete_system(incomplete: str) -> list[str]:
    return _begins(read_index().systems, incomplete)


def complete_task(incomplete: str) -> list[str]:
    return _begins(task_names(), incomplete)


def complete_run(incomplete: str) -> list[str]:
    """Folders of runs, and folders on the way to them."""
    return _paths(incomplete, ("*",))


def task_names() -> list[str]:
    """What `landmark list --task` takes: what systems are for, and the tasks of their runs."""
    index = read_index()
    kinds = [system.task for system in index.systems.values()]
    return list(dict.fromkeys([*kinds, *(recipe.task for recipe in index.recipes.values())]))


def _begins(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _paths(incomplete: str, patterns: tuple[str, ...]) -> list[str]:
    """Folders, with a slash, and the files of some pattern beside them; runs without a slash."""
    folder, _, begin = incomplete.rpartition("/")
    found = []
    for path in sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).glob("*")):
        if not path.name.startswith(begin) or (path.name.startswith(".") and not begin):
            continue
        name = f"{incomplete.removesuffix(begin)}{path.name}"
        if path.is_dir():
            found.append(name if (path / "recipe.yaml").is_file() else f"{name}/")
        elif patterns != ("*",) and any(path.match(pattern) for pattern in patterns):
            found.append(name)
    return found
