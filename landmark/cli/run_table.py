"""The table of `landmark runs`, printed once or refreshed every second."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from landmark.cli.table import Column, print_table, rich_table
from landmark.core.errors import UserError
from landmark.engine.run import LOG, RECIPE, Run, training_minutes

COLUMNS = (
    Column("run"),
    Column("task"),
    Column("step", right=True),
    Column("of", right=True),
    Column("loss", right=True),
    Column("best", right=True),
    Column("speed", right=True),
    Column("minutes", right=True),
    Column("left", right=True),
    Column("state"),
)
_SECONDS = 1.0  # between two looks


def summaries(folder: Path) -> list[dict[str, Any]]:
    """A record for each run of a folder."""
    return [summarise(path.parent) for path in sorted(folder.glob(f"*/{RECIPE}"))]


def summarise(folder: Path) -> dict[str, Any]:
    """How far a run is, how fast it goes, and what it has reached."""
    run = Run.open(folder)
    try:
        recipe, log, finished = run.read_recipe(), run.read_log(), run.finished()
    except UserError:  # one bad run does not hide the others
        lost: dict[str, Any] = {"task": "?", "step": 0, "best": None, "minutes": 0.0}
        return {"run": str(folder), **lost, "state": "damaged"}
    trainer = recipe.get("trainer")
    trainer = trainer if isinstance(trainer, dict) else {}
    monitor, max_steps = str(trainer.get("monitor", "loss")), trainer.get("max_steps")
    max_steps = max_steps if isinstance(max_steps, int) else None
    trained = [record for record in log if record["kind"] == "train" and "seconds" in record]
    validated = [record for record in log if record["kind"] == "valid" and record.get("best")]
    best = [record[monitor] for record in validated if monitor in record]
    state = "finished" if finished else "training" if run.is_training() else "unfinished"
    last = trained[-1] if trained else {}
    return {
        "run": str(folder),
        "task": str(recipe.get("task", "?")),
        "step": max((record.get("step", 0) for record in log), default=0),
        "max_steps": max_steps,
        "loss": next((v for k, v in last.items() if k == "loss" or k.endswith("_loss")), None),
        "monitor": monitor,
        "best": best[-1] if best else None,
        "per_second": last.get("per_second"),
        "unit": last.get("unit", "tokens"),
        "minutes": training_minutes(log) or 0.0,
        "minutes_left": _minutes_left(trained, max_steps) if state == "training" else None,
        "state": state,
    }


def _minutes_left(trained: Sequence[Mapping[str, Any]], max_steps: int | None) -> float | None:
    """At the pace of late: that of the last few records."""
    if len(trained) < 2 or max_steps is None:
        return None
    first, last = trained[-min(len(trained), 5)], trained[-1]
    steps = last["step"] - first["step"]
    if steps <= 0:
        return None
    seconds = (last["seconds"] - first["seconds"]) / steps * (max_steps - last["step"])
    return max(0.0, float(seconds) / 60)


def rows(found: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The cells of the table."""
    return [
        [
            entry["run"],
            entry["task"],
            str(entry["step"]),
            _shown(entry.get("max_steps"), "d"),
            _shown(entry.get("loss"), ".3f"),
            _shown(entry["best"], ".4f"),
            _shown(entry.get("per_second"), ",.0f", f" {entry.get('unit')}/s"),
            f"{entry['minutes']:.1f}",
            _shown(entry.get("minutes_left"), ".1f"),
            entry["state"],
        ]
        for entry in found
    ]


def _shown(value: Any, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def print_runs(found: Sequence[Mapping[str, Any]]) -> None:
    print_table(COLUMNS, rows(found))


def watch(folder: Path) -> None:
    """Show the runs anew every second, on a terminal; Ctrl-C ends it, and is no error."""
    from rich.live import Live

    known: dict[Path, tuple[object, dict[str, Any]]] = {}
    with Live(auto_refresh=False) as live:
        try:
            while True:
                found = [_cached(path.parent, known) for path in sorted(folder.glob(f"*/{RECIPE}"))]
                live.update(rich_table(COLUMNS, rows(found)), refresh=True)
                time.sleep(_SECONDS)
        except KeyboardInterrupt as stop:
            if type(stop) is not KeyboardInterrupt:  # told to end by another process
                raise


def _cached(folder: Path, known: dict[Path, tuple[object, dict[str, Any]]]) -> dict[str, Any]:
    """A run's record; its log is read again only when it has grown, or its trainer has gone."""
    log = folder / LOG
    size = log.stat().st_size if log.is_file() else 0
    state = (size, Run(folder).is_training())
    if folder not in known or known[folder][0] != state:
        known[folder] = (state, summarise(folder))
    return known[folder][1]
