"""Fine-tuning a translator: its languages stay, its vocabulary may grow."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.translation.vocabulary import load_subwords
from landmark.models.translation import TranslationModel
from landmark.tasks.fine_tuning import Origin

if TYPE_CHECKING:
    from landmark.tasks.translation.run import TranslationRun


def adopt(config: "TranslationRun", origin: Origin) -> "TranslationRun":
    """The shape, vocabulary and text form of the run to begin from; the rest stays as it is."""
    old: TranslationRun = origin.config
    if config.data.tags != old.data.tags or config.data.languages != old.data.languages:
        raise UserError(
            f"{origin.run.folder}: translates {_direction(old)}, not {_direction(config)}: "
            "fine-tuning keeps the languages (data.source_language, data.target_languages)"
        )
    tokenizer = dataclasses.replace(
        old.tokenizer,
        file=str(origin.tokenizer_file),
        target_file=None,
        extend=config.tokenizer.extend,
    )
    model = origin.take_shape(config.model)
    return dataclasses.replace(config, model=model, tokenizer=tokenizer)


def _direction(config: "TranslationRun") -> str:
    source, target = config.data.languages
    return f"from {source} into {', '.join(config.data.tags) or target}"


@torch.no_grad()
def save_extended(origin: Origin, model: TranslationModel, folder: Path) -> None:
    """Put what `model` begins with into a run folder, with rows for new vocabulary entries."""
    weights = origin.weights()
    tokenizer = load_subwords(folder / "tokenizer.json")
    wanted = {name: tensor.shape for name, tensor in model.named_parameters()}
    for name, tensor in weights.items():
        if name in wanted and len(wanted[name]) == 2 and wanted[name][0] > len(tensor) > 0:
            weights[name] = _extended(tensor, tokenizer)
    origin.save(folder, weights)


def _extended(rows: Tensor, tokenizer: SubwordTokenizer) -> Tensor:
    """Embeddings with a row for each new entry: the mean of the two it was merged of."""
    grown = torch.cat((rows, rows.new_zeros(len(tokenizer) - len(rows), rows.shape[1])))
    merges = tokenizer.merges()
    for number in range(len(rows), len(grown)):
        grown[number] = grown[list(merges[number])].mean(0)
    return grown
