"""`landmark runs`, `landmark runs compare` and `landmark doctor`: what has been done, and where."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.help import App
from landmark.cli.options import Json

app = App(help="List runs, or compare their curves.", invoke_without_command=True)


@app.callback()
def runs(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="Where the runs are.")] = Path("runs"),
    as_json: Json = False,
) -> None:
    """List the runs of a folder, or compare their curves."""
    if context.invoked_subcommand:
        return
    found = [_summary(path.parent) for path in sorted(folder.glob("*/recipe.yaml"))]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    if not found:
        print(f"no runs in {folder}")
        return
    width = max(30, *(len(entry["run"]) for entry in found)) + 2
    print(f"{'run':<{width}}{'task':<14}{'step':>8}{'best':>10}{'minutes':>9}  state")
    for entry in found:
        best = "-" if entry["best"] is None else f"{entry['best']:.4f}"
        print(
            f"{entry['run']:<{width}}{entry['task']:<14}{entry['step']:>8}{best:>10}"
            f"{entry['minutes']:>9.1f}  {entry['state']}"
        )


def _summary(folder: Path) -> dict[str, Any]:
    from landmark.core.errors import UserError
    from landmark.engine.run import Run, training_minutes

    run = Run.open(folder)
    try:
        recipe, log = run.read_recipe(), run.read_log()
    except UserError:  # one bad run does not hide the others
        lost: dict[str, Any] = {"task": "?", "step": 0, "best": None, "minutes": 0.0}
        return {"run": str(folder), **lost, "state": "damaged"}
    monitor = recipe.get("trainer", {}).get("monitor", "loss")
    best = [record[monitor] for record in log if record["kind"] == "valid" and record["best"]]
    return {
        "run": str(folder),
        "task": recipe.get("task", "?"),
        "step": max((record.get("step", 0) for record in log), default=0),
        "best": best[-1] if best else None,
        "minutes": training_minutes(log) or 0.0,
        "state": "finished" if run.finished() else "unfinished",
    }


@app.command()
def compare(
    names: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN")],
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("comparison.png"),
) -> None:
    """Draw the training curves of several runs, and print how their recipes differ."""
    from landmark.core.errors import UserError
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
