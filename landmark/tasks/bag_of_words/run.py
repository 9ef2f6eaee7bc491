"""Logistic regression on bags of words: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.limits import WORKERS
from landmark.data.understanding.bag_of_words import FILE, BagSamples, WordList
from landmark.data.understanding.corpus import (
    Labels,
    TaskConfig,
    data_digest,
    load_examples,
    prepare_examples,
)
from landmark.data.understanding.example import LabeledText
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.bag_of_words import BagOfWords, BagOfWordsConfig
from landmark.objectives.bag_of_words import BagOfWordsObjective
from landmark.optim.optimizer import SPARSE_METHODS
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class BagBatchConfig:
    """Batches of texts."""

    size: Annotated[int, Field(ge=1)] = 128
    """Batch size in texts."""
    workers: Annotated[int, Field(ge=0, le=WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""


@settings
class BagOfWordsRun(RunConfig):
    """A complete training of a regression on bags of words."""

    task: Literal["bag-of-words"] = "bag-of-words"
    data: TaskConfig = dataclasses.field(default_factory=TaskConfig)
    model: BagOfWordsConfig = dataclasses.field(default_factory=BagOfWordsConfig)
    batches: BagBatchConfig = dataclasses.field(default_factory=BagBatchConfig)

    @model_validator(mode="after")
    def _goes_together(self) -> "BagOfWordsRun":
        if self.data.kind != "classification":
            raise ValueError(f"bags of words are for classification, not for {self.data.kind}")
        if self.model.sparse and self.optimizer.name not in SPARSE_METHODS:
            raise ValueError(
                f"model.sparse: {self.optimizer.name} needs dense gradients: leave it out"
            )
        return self


def prepare(
    config: BagOfWordsRun, folder: Path, report: Report, origin: Origin | None = None
) -> BagOfWordsRun:
    """Labels, words and examples into the run folder."""
    examples, valid_examples = prepare_examples(config.data, folder, report)
    words = WordList.of(_examples(folder, "train"), config.model.vocab_size)
    if not len(words):
        raise UserError("the texts to train on have no words")
    words.save(folder / FILE)
    classes = len(Labels.load(folder / "labels.json").names)
    batches = math.ceil(examples / config.batches.size)
    trainer = resolve_epochs(config.trainer, batches)
    counts = {"examples": examples, "valid_examples": valid_examples, "batches": batches}
    summary = f"{examples:,} examples to train on, {valid_examples:,} to validate"
    summary += f"; {batches:,} updates a pass"
    report({"kind": "data", **counts, "max_steps": trainer.max_steps, "summary": summary})
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, vocab_size=len(words), classes=classes),
        trainer=trainer,
    )


def _examples(folder: Path, split: str) -> list[LabeledText]:
    found = load_examples(folder / "data", split, "classification")
    return [example for example in found if isinstance(example, LabeledText)]


def assemble(config: BagOfWordsRun, folder: Path, device: torch.device) -> Assembly:
    """Regression, objective, optimiser and loaders of a prepared run."""
    torch.manual_seed(config.seed)
    model = BagOfWords(config.model).to(device)
    words, labels = WordList.load(folder / FILE), Labels.load(folder / "labels.json")
    training, validation = (
        BagSamples(
            _examples(folder, split),
            words,
            labels.names,
            config.batches.size,
            config.seed,
            shuffle=split == "train",
        )
        for split in ("train", "valid")
    )
    return assemble_one(config, BagOfWordsObjective(model), training, validation)


TASK = Task(
    "bag-of-words",
    BagOfWordsRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=(FILE, "labels.json", "data"),
    assets=(FILE, "labels.json"),
    resolved=("model.vocab_size", "model.classes", "trainer.max_steps"),
)
