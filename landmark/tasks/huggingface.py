"""Models of Hugging Face, in and out: what the rooms that read and write them share."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from safetensors import safe_open
from torch import Tensor

import landmark
from landmark.core.configuration import as_values, shortened
from landmark.core.errors import DamagedError, UserError
from landmark.core.model_size import SizeLimit
from landmark.core.storage import write_durably
from landmark.core.structured_text import parse_json
from landmark.data.text_file import read_lines
from landmark.engine.checkpoint import read_facts
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.huggingface.download import fetch_model
from landmark.interop.huggingface.folder import (
    SAFETENSORS,
    Weights,
    read_config,
    read_weights,
)
from landmark.interop.huggingface.model_card import CARD, ModelFacts, write_card
from landmark.tasks.card import (
    CARDS,
    ExportOptions,
    HuggingFaceExportOptions,
    Report,
    resolve,
    take_options,
)
from landmark.tasks.exporting import export_facts, export_folder, export_run
from landmark.tasks.importing import HuggingFaceOptions, free_folder, write_imported
from landmark.tasks.task import RunConfig
from landmark.tasks.training import check_assets, load_config

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
    config, weights = read_config(folder), read_weights(folder)
    try:
        with SizeLimit(f"{folder}: the model", counts_meta=True):
            imported = read(folder, config, weights)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise UserError(
            f"{folder}: not a supported model: {where}: {fault['msg']} "
            f"(got {shortened(fault['input'])})"
        ) from None
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
    files = options.evaluation if isinstance(options, HuggingFaceExportOptions) else ()
    evaluations = [record for file in files for record in _read_evaluation(file, source)]

    def fill_all(partial: Path) -> None:
        fill(partial, source)
        card = write_card(_model_facts(run, source, partial, evaluations))
        write_durably(partial / CARD, card.encode())

    write_export(folder, export_facts(HF, "float32", source), fill_all)
    return folder


def _model_facts(
    run: Run, checkpoint: Path, exported: Path, evaluations: Sequence[Mapping[str, Any]]
) -> ModelFacts:
    """What the model card states: of the run, and of what was written."""
    config = load_config(run)
    values, step = _without_folders(as_values(config)), int(read_facts(checkpoint)["step"])
    measured = [
        record
        for record in run.read_log()
        if record["kind"] == "valid" and run.checkpoint_folder(record["step"]) == checkpoint
    ]
    with safe_open(exported / SAFETENSORS, "pt") as tensors:
        parameters = sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118
    return ModelFacts(
        name=run.folder.resolve().name,
        model_class=read_config(exported)["architectures"][0],
        task=config.task,
        parameters=parameters,
        checkpoint=checkpoint.name,
        step=step,
        version=landmark.__version__,
        settings=yaml.safe_dump(values, sort_keys=False, allow_unicode=True),
        data=values.get("data", {}),
        validation=measured[-1] if measured else {},
        evaluations=evaluations,
    )


def _without_folders(value: Any) -> Any:
    """Settings without the folders of this machine: a card may be published."""
    if isinstance(value, dict):
        return {key: _without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner) for inner in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _read_evaluation(path: Path, checkpoint: Path) -> list[dict[str, Any]]:
    """The records of `landmark evaluate --json`; those of another checkpoint are refused."""
    records = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = parse_json(line, f"{path}:{number}")
        except DamagedError:
            record = None
        if not isinstance(record, dict):
            raise UserError(f"{path}:{number}: is not a line of `landmark evaluate --json`")
        if record.get("checkpoint") != checkpoint.name:
            raise UserError(
                f"{path}:{number}: is of checkpoint {record.get('checkpoint')}, but "
                f"{checkpoint.name} is exported: evaluate that one"
            )
        records.append(record)
    return records


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
    classes = config.get("architectures")
    classes = ", ".join(map(str, classes)) if isinstance(classes, list) else ""
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
