"""Where a run's exports are, and whether one is of the weights that are asked for."""

from pathlib import Path
from typing import Any

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import checkpoint_digest
from landmark.engine.run import Run
from landmark.interop.folder import read_export


def export_folder(run: Run, name: str) -> Path:
    """Where a run's export is, unless it was sent elsewhere."""
    return run.folder / "export" / name


def export_facts(target: str, weights: str, checkpoint: Path) -> dict[str, Any]:
    """What every export's manifest says."""
    return {
        "target": target,
        "weights": weights,
        "checkpoint": checkpoint.name,
        "checkpoint_digest": checkpoint_digest(checkpoint),
        "landmark": landmark.__version__,
    }


def open_export(run: Run, name: str, checkpoint: str | None = None) -> Path:
    """The folder of a run's export; refuses one that is missing, damaged or of other weights."""
    folder, source = export_folder(run, name), run.find_checkpoint(checkpoint)
    command = f"landmark export {run.folder} --to {name.removesuffix('-int8')}"
    command += " --int8" * name.endswith("-int8")
    command += f" --checkpoint {checkpoint}" if checkpoint else ""
    if not folder.exists():
        raise UserError(f"{folder}: there is no export yet: {command}")
    facts = read_export(folder)
    if facts["checkpoint_digest"] != checkpoint_digest(source):
        raise UserError(
            f"{folder}: was made from {facts['checkpoint']}, not from {source.name} as it is now: "
            f"{command}"
        )
    return folder
