"""Beginning from another run's weights, with its vocabulary or one extended by new entries."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.data.foreign.sentencepiece import load_subwords
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.checkpoint import load_module, load_tensors, save_checkpoint
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.models.translation import TranslationModel
from landmark.tasks.task import RunConfig
from landmark.tasks.training import check_assets, load_config

if TYPE_CHECKING:
    from landmark.tasks.language_model.run import LanguageModelRun
    from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun
    from landmark.tasks.translation.run import TranslationRun

TextRun = TypeVar("TextRun", "LanguageModelRun", "MaskedLanguageModelRun")
_NO_SHAPE = ("dropout", "attention_dropout", "word_dropout", "activation_checkpointing")
"""Settings of a model that are no part of its shape."""
INITIAL = "initial"
"""The checkpoint of a run folder that training begins from: the run needs no other any more."""


def adopt(config: "TranslationRun") -> "TranslationRun":
    """The shape, vocabulary and text form of the run to begin from; the rest stays as it is."""
    old: TranslationRun = open_origin(config)
    run = str(config.init_from)
    if config.data.tags != old.data.tags or config.data.languages != old.data.languages:
        raise UserError(
            f"{run}: translates {_direction(old)}, not {_direction(config)}: "
            "fine-tuning keeps the languages (data.source_language, data.target_languages)"
        )
    model = take_shape(old.model, config.model)
    tokenizer = dataclasses.replace(
        config.tokenizer, file=str(Path(run) / "tokenizer.json"), form=old.tokenizer.form
    )
    return dataclasses.replace(config, model=model, tokenizer=tokenizer)


def adopt_reader(config: TextRun, old: TextRun) -> TextRun:
    """The shape and vocabulary of the language model or BERT to begin from; the rest stays."""
    ours, wanted = old.model.architecture, config.model.architecture
    if ours != wanted:
        raise UserError(
            f"{config.init_from}: is a model of architecture {ours!r}, not {wanted!r}: begin from "
            "one of the same"
        )
    file = str(Path(str(config.init_from)) / "tokenizer.json")
    return dataclasses.replace(
        config,
        model=take_shape(old.model, config.model),
        tokenizer=dataclasses.replace(old.tokenizer, file=file),
    )


def take_shape(old: Any, new: Any) -> Any:
    """A model's settings, with those that are no part of its shape as `new` has them."""
    shape, wanted = as_values(old), as_values(new)
    changed = {key: wanted[key] for key in _NO_SHAPE if key in shape and key in wanted}
    return dataclasses.replace(old, **changed)


def open_origin(config: RunConfig) -> Any:
    """The configuration of the run to begin from, which must be of the same task."""
    run = Run.open(Path(str(config.init_from)))
    old = load_config(run)
    if old.task != config.task:
        raise UserError(f"{run.folder}: is a run of task {old.task!r}, not of {config.task!r}")
    check_assets(run)
    return old


def _direction(config: "TranslationRun") -> str:
    source, target = config.data.languages
    return f"from {source} into {', '.join(config.data.tags) or target}"


@torch.no_grad()
def save_initial(run: str, model: TranslationModel, folder: Path) -> None:
    """Put what `model` begins with into a run folder, with rows for new vocabulary entries."""
    checkpoint = Run.open(Path(run)).find_checkpoint()
    weights = load_player(checkpoint, "model")
    tokenizer = load_subwords(folder / "tokenizer.json")
    wanted = {name: tensor.shape for name, tensor in model.named_parameters()}
    for name, tensor in weights.items():
        if name in wanted and len(wanted[name]) == 2 and wanted[name][0] > len(tensor) > 0:
            weights[name] = _extended(tensor, tokenizer)
    _save(weights, checkpoint, folder)


def copy_initial(run: str, folder: Path) -> None:
    """Put a run's weights into a run folder as they are."""
    checkpoint = Run.open(Path(run)).find_checkpoint()
    _save(load_player(checkpoint, "model"), checkpoint, folder)


def _save(weights: dict[str, Tensor], checkpoint: Path, folder: Path) -> None:
    save_checkpoint(folder / INITIAL, {MODEL: weights}, {"step": 0, "from": str(checkpoint)})


def _extended(rows: Tensor, tokenizer: SubwordTokenizer) -> Tensor:
    """Embeddings with a row for each new entry: the mean of the two it was merged of."""
    grown = torch.cat((rows, rows.new_zeros(len(tokenizer) - len(rows), rows.shape[1])))
    merges = tokenizer.merges()
    for number in range(len(rows), len(grown)):
        grown[number] = grown[list(merges[number])].mean(0)
    return grown


def load_initial(model: nn.Module, folder: Path) -> None:
    """Take up the weights that a run folder says to begin with."""
    with torch.no_grad():
        load_module(model, load_tensors(folder / INITIAL, MODEL), folder / INITIAL)
