"""`landmark list`: the systems by task and year, and one system with its variants and recipes."""

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from landmark.cli.completion import complete_system, complete_task, task_names
from landmark.cli.options import Json
from landmark.cli.table import Column, print_table
from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.tasks.index import Index, SystemFacts, check_system, read_index


def list_systems(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SYSTEM",
            help="Show one system: its paper, variants and recipes.",
            autocompletion=complete_system,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="List only systems of this task.", autocompletion=complete_task),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the systems by task and year, or one of them with its variants and recipes."""
    index = read_index()
    if name is not None:
        if task is not None:
            raise UserError("give a system or --task, not both")
        check_system(name)
        found = [index.systems[name]]
    else:
        found = _of_task(index, task)
    if as_json:
        print(json.dumps([_record(index, system) for system in found], indent=2))
    elif name is not None:
        _print_system(index, found[0])
    else:
        _print_systems(index, found)


def _of_task(index: Index, task: str | None) -> list[SystemFacts]:
    """The systems of a task, in the order of tasks and years."""
    if task is not None and task not in task_names():
        raise UserError(f"unknown task {task!r}: {nearest(task, task_names())}")
    systems = list(index.systems.values())
    order = list(dict.fromkeys(system.task for system in systems))
    if task in order:
        found = [system for system in systems if system.task == task]
    elif task is not None:  # what its runs are trained for, as language-model
        owners = {recipe.system for recipe in index.recipes.values() if recipe.task == task}
        found = [system for system in systems if system.name in owners]
    else:
        found = systems
    return sorted(found, key=lambda system: (order.index(system.task), system.year))


def _record(index: Index, system: SystemFacts) -> dict[str, Any]:
    """All that is known of a system."""
    record = asdict(system)
    networks = record.pop("networks")
    recipes = [asdict(recipe) for recipe in index.recipes_of(system.name)]
    for recipe in recipes:
        del recipe["system"]
    return {**record, "variants": networks, "recipes": recipes}


def _print_systems(index: Index, systems: list[SystemFacts]) -> None:
    """A line a system: by task on a terminal, with all names of recipes elsewhere."""
    if sys.stdout.isatty():
        _print_by_task(index, systems)
    else:
        columns = [Column("system"), Column("year"), Column("task"), Column("what it is")]
        rows = [
            [s.name, str(s.year), s.task, s.what, " ".join(_recipe_names(index, s)) or "-"]
            for s in systems
        ]
        print_table([*columns, Column("recipes")], rows)
    print("\n`landmark list SYSTEM` shows its paper, variants and recipes.")


def _print_by_task(index: Index, systems: list[SystemFacts]) -> None:
    from landmark.cli.console import Console

    width = max(len(system.name) for system in systems)
    columns = [
        Column("system", width=width),
        Column("year", right=True),
        Column("recipes", right=True),
        Column("what it is"),
    ]
    for task in dict.fromkeys(system.task for system in systems):
        Console().print(f"\n{task}", style="bold magenta", highlight=False)
        rows = [
            [s.name, str(s.year), str(len(_recipe_names(index, s)) or "-"), s.what]
            for s in systems
            if s.task == task
        ]
        print_table(columns, rows)


def _recipe_names(index: Index, system: SystemFacts) -> list[str]:
    return [recipe.name for recipe in index.recipes_of(system.name)]


def _print_system(index: Index, system: SystemFacts) -> None:
    """The paper, the variants with their sizes, the recipes with what they reach."""
    what = f": {system.what}" if system.what else ""
    print(f"{system.name} ({system.year}, {system.task}){what}\n{system.paper}")
    if system.networks:
        columns = [
            Column("variant"),
            Column("parameters", right=True),
            Column("published", right=True),
            Column("note"),
        ]
        rows = [
            [n.name, f"{n.parameters:,}", _number(n.published_parameters), n.note]
            for n in system.networks
        ]
        print()
        print_table(columns, rows)
    recipes = index.recipes_of(system.name)
    if not recipes:
        print(f"\nNo recipe trains it here. Next: landmark show {system.networks[0].name}")
        return
    columns = [Column("recipe"), Column("minutes", right=True), Column("reaches"), Column("what")]
    rows = [
        [r.name, "-" if r.minutes is None else f"{r.minutes:g}", r.reaches or "-", r.summary]
        for r in recipes
    ]
    print()
    print_table(columns, rows)
    if any(recipe.minutes for recipe in recipes):
        print("\nMinutes as measured on 2 cores or one thread; - where nothing was measured.")
    print(f"\nNext: landmark train {recipes[0].name}")


def _number(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
