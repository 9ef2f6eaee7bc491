"""Masked language modelling: its configuration, and how such a run is put together."""

import dataclasses
from pathlib import Path
from typing import Literal

import torch
from pydantic import model_validator

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.masked_text import (
    MaskedBatchConfig,
    MaskedSamples,
    MaskedTokenConfig,
    separators,
)
from landmark.data.running_text.passage import PassageConfig, data_digest, prepare_passages
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.shards import TokenStore
from landmark.engine.trainer import Report
from landmark.models.transformer.bert import BERTConfig, PretrainedBERT
from landmark.objectives.masked_token import MaskedTokenObjective
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import (
    INITIAL,
    Origin,
    load_initial,
)
from landmark.tasks.task import Assembly, RunConfig, Task

MASKED_LANGUAGE_MODEL = "masked-language-model"
_SHORTEST = 8  # tokens that a text must have room for


@settings
class MaskedLanguageModelRun(RunConfig):
    """A complete pretraining of a BERT."""

    task: Literal["masked-language-model"] = "masked-language-model"
    data: PassageConfig = dataclasses.field(default_factory=PassageConfig)
    tokenizer: WordPieceConfig = dataclasses.field(default_factory=WordPieceConfig)
    model: BERTConfig = dataclasses.field(default_factory=BERTConfig)
    objective: MaskedTokenConfig = dataclasses.field(default_factory=MaskedTokenConfig)
    batches: MaskedBatchConfig = dataclasses.field(default_factory=MaskedBatchConfig)

    @model_validator(mode="after")
    def _fits_together(self) -> "MaskedLanguageModelRun":
        if fault := _misfit(self.model, self.objective):
            raise ValueError(fault)
        return self


def _misfit(model: BERTConfig, objective: MaskedTokenConfig) -> str | None:
    """Why a network cannot be pretrained in this way, if it cannot."""
    if model.max_length < _SHORTEST:
        return f"model.max_length: must be at least {_SHORTEST} to pretrain"
    if objective.next_sentence and model.segments != 2:
        return (
            "objective.next_sentence: a model must tell two segments apart: set "
            "model.segments=2, or objective.next_sentence=false"
        )
    return None


def prepare(
    config: MaskedLanguageModelRun, folder: Path, report: Report, origin: Origin | None = None
) -> MaskedLanguageModelRun:
    """Tokenizer and tokens into the run folder; the model's vocabulary is the tokenizer's."""
    if origin:
        if fault := _misfit(origin.config.model, config.objective):
            raise UserError(f"{config.init_from}: {fault}")
        config = origin.adopted_by(config)
    in_pairs = config.objective.next_sentence
    room = config.model.max_length - separators(config.objective)
    size = prepare_passages(
        config.data,
        config.tokenizer,
        folder,
        room // 2 if in_pairs else room,  # so that any two sentences fit
        in_pairs,
        report,
    )
    wanted = config.model.vocab_size
    if wanted not in (None, size):
        raise UserError(
            f"the vocabulary does not match: model.vocab_size is {wanted}, the tokenizer has {size}"
        )
    if origin:
        origin.save(folder)
    return dataclasses.replace(config, model=dataclasses.replace(config.model, vocab_size=size))


def assemble(config: MaskedLanguageModelRun, folder: Path, device: torch.device) -> Assembly:
    """Model, objective, optimiser and loaders of a prepared run."""
    tokenizer = WordPieceTokenizer.load(folder / "tokenizer.json")
    torch.manual_seed(config.seed)
    model = PretrainedBERT(config.model).to(device)
    if config.init_from:
        load_initial(model, folder)
    training, validation = (
        MaskedSamples(
            TokenStore(folder / "data" / split, verify=True),
            config.batches,
            config.objective,
            tokenizer,
            config.model.max_length,
            config.seed,
            shuffle=split == "train",
        )
        for split in ("train", "valid")
    )
    objective = MaskedTokenObjective(model, config.objective)
    return assemble_one(config, objective, training, validation)


TASK = Task(
    MASKED_LANGUAGE_MODEL,
    MaskedLanguageModelRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=("tokenizer.json", "data", INITIAL),
    assets=("tokenizer.json",),
)
