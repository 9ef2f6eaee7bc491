"""`landmark list`, `landmark show` and `landmark recipe`: what there is."""

import json
from typing import Annotated, Any

import typer

from landmark.cli.options import Json


def list_systems(as_json: Json = False) -> None:
    """List every system: paper, year, task, variants and recipes."""
    from landmark.recipes.catalog import RECIPES, SYSTEMS, load_catalog

    load_catalog()
    systems: list[dict[str, Any]] = [
        {
            "name": system.name,
            "paper": system.paper,
            "year": system.year,
            "task": system.task,
            "variants": [network.name for network in system.networks],
            "recipes": {r.name: r.summary for r in RECIPES.values() if r.system == system.name},
        }
        for system in SYSTEMS.values()
    ]
    if as_json:
        print(json.dumps(systems, indent=2))
        return
    for entry in systems:
        print(f"{entry['name']} ({entry['year']}, {entry['task']}): {entry['paper']}")
        if entry["variants"]:
            print(f"  variants: {', '.join(entry['variants'])}")
        for name, summary in entry["recipes"].items():
            print(f"  recipe {name}: {summary}")


def show(
    name: Annotated[str, typer.Argument(help="A network, as transformer-base.")],
    as_json: Json = False,
) -> None:
    """Print a network's layers, parameters and MACs beside the published figures."""
    import torch

    from landmark.probes.anatomy import dissect
    from landmark.recipes.catalog import NETWORKS, load_catalog, system_of

    load_catalog()
    network = NETWORKS[name]
    system = system_of(name)
    with torch.device("meta"):
        anatomy = dissect(network.build(), network.compute, network.auxiliary)
    facts = {
        "name": name,
        "parameters": anatomy.parameters,
        "auxiliary_parameters": anatomy.auxiliary_parameters,
        "macs": anatomy.macs,
        "published_parameters": network.published_parameters,
        "paper": system.paper,
        "year": system.year,
    }
    if as_json:
        layers = [vars(row) | {"output": list(row.output)} for row in anatomy.layers]
        print(json.dumps({**facts, "layers": layers}, indent=2))
        return
    print(f"{name}: {system.paper} ({system.year})")
    print(f"{'layer':<44}{'kind':<22}{'output':>14}{'parameters':>14}{'MACs':>16}")
    for row in anatomy.layers:
        shape = "x".join(map(str, row.output))
        print(f"{row.name:<44}{row.kind:<22}{shape:>14}{row.parameters:>14,}{row.macs:>16,}")
    published = network.published_parameters
    beside = f"; published {published:,}" if published else ""
    note = f" ({network.note})" if network.note else ""
    print(f"parameters {anatomy.parameters:,}{beside}{note}")
    print(f"MACs {anatomy.macs:,} for one sequence of 128 tokens a side")


def print_recipe(
    name: Annotated[str, typer.Argument(help="A recipe, as transformer-embedded.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="Settings to change.")] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Without the explanations.")] = False,
) -> None:
    """Print a recipe as YAML, to edit and train from."""
    from landmark.core.configuration import as_yaml
    from landmark.recipes.training import resolve

    print(as_yaml(resolve(name, overrides or []), documented=not bare), end="")
