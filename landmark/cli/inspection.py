"""`landmark runs`, `landmark runs compare` and `landmark doctor`: what has been done, and where."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.help import App
from landmark.cli.options import Json
from landmark.core.errors import UserError

_RUNS = Path("runs")
app = App(help="List runs, or compare their loss curves.", invoke_without_command=True)


@app.callback()
def runs(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="Folder with the runs.")] = _RUNS,
    live: Annotated[
        bool, typer.Option("--live", help="Refresh every second until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the runs of a folder, or compare their curves."""
    if context.invoked_subcommand:
        return
    from landmark.cli.run_table import print_runs, summaries, watch

    if folder != _RUNS and not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder")
    if live and as_json:
        raise UserError("give --live or --json, not both")
    if live and sys.stdout.isatty():
        watch(folder)
        return
    found = summaries(folder)
    if as_json:
        print(json.dumps(found, indent=2))
    elif found:
        print_runs(found)
    else:
        print(f"no runs in {folder}")


@app.command()
def compare(
    names: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN")],
    output: Annotated[Path, typer.Option(help="Output file.")] = Path("comparison.png"),
) -> None:
    """Plot the loss curves of several runs, and print how their recipes differ."""
    from landmark.engine.run import Run
    from landmark.figures.figure import check_place

    check_place(output)
    opened = {str(name): Run.open(name) for name in names}
    if len(opened) < 2:
        raise UserError("compare needs at least two different runs")
    from landmark.figures.losses import save_comparison
    from landmark.tasks.training import FACTS, flatten

    recipes = {name: flatten(run.read_recipe()) for name, run in opened.items()}
    keys = sorted(set().union(*recipes.values()))
    for key in keys:
        values = [recipe.get(key) for recipe in recipes.values()]
        if any(value != values[0] for value in values) and not key.startswith(FACTS):
            print(f"{key}: " + " | ".join(str(value) for value in values))
    save_comparison({name: run.read_log() for name, run in opened.items()}, output)
    print(output)


def doctor(as_json: Json = False) -> None:
    """Print what a bug report needs: versions, threads, devices, data folder."""
    import importlib.metadata
    import os
    import shutil

    import torch

    from landmark.core.runtime import devices, environment

    packages = ("torch", "numpy", "pydantic", "tokenizers", "safetensors", "sacrebleu", "typer")
    data = os.environ.get("LANDMARK_DATA")
    facts: dict[str, Any] = {
        **environment(),
        "processors": os.cpu_count(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "devices": devices(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "data_folder": data or "not set (LANDMARK_DATA)",
        "data_folder_found": bool(data and Path(data).is_dir()),
        "free_disk_gb": round(shutil.disk_usage(".").free / 1e9, 1),
    }
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    for key, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {version}" for name, version in value.items())
        print(f"{key.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
