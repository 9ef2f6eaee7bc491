"""A run in another library's format: making it, finding it, and whether it is of these weights."""

from os import PathLike
from pathlib import Path
from typing import Any

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import checkpoint_digest
from landmark.engine.run import Run
from landmark.interop.folder import read_export
from landmark.tasks.card import CARDS, Report, Verb, resolve, take_options


def export_run(
    run: str | PathLike[str], target: str, report: Report = lambda record: None, **options: Any
) -> Path:
    """Write a run's model for another library, as `landmark export --to` does; returns where.

    `target`: hf, onnx or ctranslate2. Options: `output` (the folder), `checkpoint`, and those of
    the format, as `int8=True`.
    """
    from landmark.tasks.training import load_config

    opened = Run.open(Path(run))
    verb = find_export(opened, target)
    config = load_config(opened)
    chosen = take_options(resolve(verb.options), None, options)
    if verb.check:
        resolve(verb.check)(config, chosen, False)
    made: Path = resolve(verb.run)(opened, config, chosen, report)
    return made


def find_export(run: Run, target: str) -> Verb:
    """What writes a run's model for another library; refuses what its task does not have."""
    task = str(run.read_recipe().get("task"))
    exports = CARDS[task].exports
    if target not in exports:
        fits = f"it has {' or '.join(exports)}" if exports else "it has none"
        raise UserError(
            f"{run.folder}: is a run of task {task!r}, which has no export to {target!r}: {fits}"
        )
    return exports[target]


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
