"""Models of Hugging Face, in and out: what the rooms that read and write them share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.huggingface.download import fetch_model
from landmark.interop.huggingface.folder import Weights, read_config, read_weights
from landmark.tasks.card import CARDS, ExportOptions, Report, resolve, take_options
from landmark.tasks.exporting import export_facts, export_folder, export_run
from landmark.tasks.importing import HuggingFaceOptions, free_folder, write_imported
from landmark.tasks.task import RunConfig
from landmark.tasks.training import check_assets

HF = "hf"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Imported:
    """What a run is made of."""

    config: RunConfig
    state: dict[str, Tensor]
    tokenizer: str
    """What its tokenizer.json holds."""
    notes: tuple[str, ...] = ()


Reader = Callable[[Path, dict[str, Any], Weights], Imported]
"""A folder, its config.json and its weights as a run of a task."""
_fetched: dict[tuple[str, str], Path] = {}


def _silent(record: object) -> None:
    return None


def model_folder(options: HuggingFaceOptions, report: Report) -> Path:
    """The folder of a model; one that is named as on the Hub is downloaded, once."""
    given = Path(options.path)
    free_folder(options.run, given.resolve().name)
    if given.exists() or options.path.startswith((".", "/", "~")) or options.path.count("/") > 1:
        return given
    key = options.path, options.revision
    if key not in _fetched or not _fetched[key].is_dir():
        _fetched[key] = fetch_model(options.path, report, options.revision)
    return _fetched[key]


def model_type(options: HuggingFaceOptions, report: Report) -> str | None:
    """The kind of model that a folder's config.json names."""
    kind = read_config(model_folder(options, report)).get("model_type")
    return kind if isinstance(kind, str) else None


def import_folder(options: HuggingFaceOptions, report: Report, read: Reader) -> Path:
    """Make a run of a model; all of it is read and checked before anything is written."""
    folder = model_folder(options, report)
    target = free_folder(options.run, Path(options.path).resolve().name)
    imported = read(folder, read_config(folder), read_weights(folder))
    for note in imported.notes:
        report({"kind": "note", "text": f"note: {note}"})
    assets = {TOKENIZER: imported.tokenizer.encode()}
    write_imported(imported.config, imported.state, assets, target, options.path)
    return target


def check_sizes(folder: Path, tokens: int, rows: int | None) -> None:
    """Refuse a tokenizer that has another number of entries than the embedding."""
    if tokens != rows:
        raise UserError(
            f"{folder}: the tokenizer does not belong to the weights: it has {tokens} entries, the "
            f"embedding has {rows}"
        )


def export_model(run: Run, options: ExportOptions, fill: Callable[[Path, Path], None]) -> Path:
    """Have `fill` write a folder from a checkpoint; one that cannot be there is refused."""
    folder = options.output or export_folder(run, HF)
    refuse_foreign(folder.resolve())
    check_assets(run)
    source = run.find_checkpoint(options.checkpoint)
    write_export(folder, export_facts(HF, "float32", source), lambda partial: fill(partial, source))
    return folder


def import_model(
    path: str | Path, run: Path | None = None, report: Report = _silent, revision: str = "main"
) -> Path:
    """Make a run of a folder, or of a model by its name on the Hub, whatever task it is for."""
    given = {"path": str(path), "run": run, "revision": revision}
    options = take_options(HuggingFaceOptions, None, given)
    importers = [card.imports[HF] for card in CARDS.values() if HF in card.imports]
    for importer in importers:
        if importer.accepts is None or resolve(importer.accepts)(options, report):
            made: Path = resolve(importer.run)(options, report)
            return made
    config = read_config(model_folder(options, report))
    classes = ", ".join(config.get("architectures") or [])
    raise UserError(
        f"{path}: a model of type {config.get('model_type')!r}{f' ({classes})' if classes else ''} "
        f"is not supported: only {', '.join(importer.name for importer in importers)}"
    )


def export_to_hf(
    run: str | Path,
    output: Path | None = None,
    checkpoint: str | None = None,
    report: Report = _silent,
) -> Path:
    """Write a run's model and vocabulary as a folder that `transformers` loads; returns where."""
    return export_run(run, HF, report, checkpoint=checkpoint, output=output)


def architecture(config: Any) -> str:
    """How messages name the network of a run that cannot be exported."""
    return f"a model of architecture {config.model.architecture!r}"
