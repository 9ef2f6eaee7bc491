"""Opening runs for figures; a run of another task is refused before its weights are loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError


def open_pipeline(
    run: Path, tasks: Sequence[str], checkpoint: str | None = None, device: str = "auto"
) -> Any:
    """A trained run of one of these tasks, ready to use."""
    import landmark
    from landmark.engine.run import Run

    task = Run.open(run).read_recipe().get("task")
    if task not in tasks:
        wanted = " or ".join(map(repr, tasks))
        raise UserError(f"{run}: is a run of task {task!r}, not {wanted}")
    return landmark.load(run, checkpoint=checkpoint, device=device)


def name_runs(runs: Sequence[Path]) -> dict[str, Path]:
    """The runs by name, or by path where two have one name; each once."""
    places, names = [run.resolve() for run in runs], [run.name for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{run}: is given twice")
    return {run.name if run.name and names.count(run.name) == 1 else str(run): run for run in runs}
