"""Fine-tuning for understanding: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import default_key, settings
from landmark.core.errors import UserError
from landmark.data.understanding.corpus import (
    Labels,
    TaskConfig,
    data_digest,
    load_examples,
    prepare_examples,
)
from landmark.data.understanding.encoding import ExampleEncoder, marks_of
from landmark.data.understanding.example import Example
from landmark.data.understanding.samples import ExampleBatchConfig, ExampleSamples
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.transformer.bert import BERTConfig
from landmark.models.understanding import BodyConfig, UnderstandingModel, rate_share
from landmark.objectives.understanding import UnderstandingConfig, UnderstandingObjective
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import INITIAL, Origin
from landmark.tasks.task import Assembly, RunConfig, Task
from landmark.tasks.understanding.pretrained import (
    adopt_body,
    load_body,
    load_vocabulary,
    readable_length,
    save_body,
)


@settings
class FineTuningConfig:
    """Fine-tuning: which parts of the pretrained model are trained, and how fast."""

    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Layer-wise learning rate decay: each layer's learning rate is this fraction of that of the
    layer above.
    """
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """Number of lowest layers to freeze; the embeddings are frozen with them."""
    frozen_embeddings: bool = False
    """Freeze the embeddings."""
    head_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout probability before the classification head."""


@settings
class UnderstandingRun(RunConfig):
    """A complete fine-tuning."""

    task: Literal["understanding"] = "understanding"
    init: Literal["weights", "shape"] = "weights"
    """What to take from the run in init_from: its weights, or only its shape and vocabulary."""
    data: TaskConfig = dataclasses.field(default_factory=TaskConfig)
    model: Annotated[
        BodyConfig, Field(discriminator="architecture"), default_key("architecture", "bert")
    ] = dataclasses.field(default_factory=BERTConfig)
    fine_tuning: FineTuningConfig = dataclasses.field(default_factory=FineTuningConfig)
    objective: UnderstandingConfig = dataclasses.field(default_factory=UnderstandingConfig)
    batches: ExampleBatchConfig = dataclasses.field(default_factory=ExampleBatchConfig)

    @model_validator(mode="after")
    def _can_be_sharded(self) -> "UnderstandingRun":
        if self.trainer.sharded:
            raise ValueError(
                "trainer.sharded: what is fine-tuned here fits whole on every process: leave it out"
            )
        return self


def prepare(
    config: UnderstandingRun, folder: Path, report: Report, origin: Origin | None = None
) -> UnderstandingRun:
    """Vocabulary, labels, examples and the weights to begin with into the run folder."""
    if origin is None:
        raise UserError(
            "there is nothing to fine-tune: give --init-from RUN, a pretrained run (as `landmark "
            "train bert-reading` makes one); init=shape takes its shape but fresh weights"
        )
    config = adopt_body(config, origin, folder)
    layers = config.model.num_layers
    if config.fine_tuning.frozen_layers > layers:
        raise UserError(
            f"fine_tuning.frozen_layers is {config.fine_tuning.frozen_layers}, but "
            f"{config.init_from} has {layers} layers"
        )
    if config.objective.auxiliary and isinstance(config.model, BERTConfig):
        raise UserError(
            f"objective.auxiliary: {config.init_from} is a BERT, which predicts no next token: "
            "set it to 0, or begin from a GPT"
        )
    longest = config.batches.max_length
    if longest and longest > readable_length(config.model) and hasattr(config.model, "max_length"):
        raise UserError(
            f"batches.max_length is {longest}, but {config.init_from} reads "
            f"{readable_length(config.model)} tokens"
        )
    examples, valid_examples = prepare_examples(config.data, folder, report)
    reader = build_reader(config, folder)
    for split in ("train", "valid"):  # what cannot be read shows before the run begins
        _check_answers(reader, load_examples(folder / "data", split, config.data.kind), report)
    batches = math.ceil(examples / config.batches.size)
    config = _timed(config, batches)
    counts = {"examples": examples, "valid_examples": valid_examples, "batches": batches}
    summary = f"{examples:,} examples to train on, {valid_examples:,} to validate"
    summary += f"; {batches:,} updates a pass"
    steps = config.trainer.max_steps
    report({"kind": "data", **counts, "max_steps": steps, "summary": summary})
    if config.init == "weights":
        save_body(config, origin, folder)
    return config


def _check_answers(reader: ExampleEncoder, examples: list[Example], report: Report) -> None:
    """Say how many questions teach nothing, because no window holds their answer."""
    lost = len(examples) - len(reader.read_to_learn(examples))
    if lost == len(examples):
        raise UserError(f"{examples[0].place}: no answer of this split fits into what is read")
    if lost:
        text = f"warning: skipped {lost:,} questions whose answers fit in no window"
        report({"kind": "note", "text": text})


def _timed(config: UnderstandingRun, batches: int) -> UnderstandingRun:
    """Passes over the data as steps: it is validated after each at the latest."""
    if config.trainer.epochs is None:
        return config
    trainer = dataclasses.replace(
        resolve_epochs(config.trainer, batches),
        validate_every=min(config.trainer.validate_every, batches),
        checkpoint_every=min(config.trainer.checkpoint_every, batches),
    )
    warmup = min(config.schedule.warmup_steps, math.ceil(trainer.max_steps / 10))
    schedule = dataclasses.replace(config.schedule, warmup_steps=warmup)
    return dataclasses.replace(config, trainer=trainer, schedule=schedule)


def build_reader(config: UnderstandingRun, folder: Path) -> ExampleEncoder:
    """How a run's examples become tokens."""
    tokenizer = load_vocabulary(folder / "tokenizer.json")
    is_bert = isinstance(config.model, BERTConfig)
    expected = config.model.vocab_size
    marks = marks_of(tokenizer, is_bert)
    if expected != (len(tokenizer) if is_bert else marks.end + 1):
        raise UserError(
            f"{folder / 'tokenizer.json'}: has {len(tokenizer)} entries, but the model's "
            f"vocabulary is of {expected}: it does not belong to these weights"
        )
    return ExampleEncoder(
        tokenizer,
        marks,
        Labels.load(folder / "labels.json"),
        config.batches.max_length or readable_length(config.model),
        config.data.both_ways and not is_bert,
    )


def build_model(config: UnderstandingRun, labels: Labels) -> UnderstandingModel:
    """The network of a configuration."""
    return UnderstandingModel(config.model, labels.num_outputs, config.fine_tuning.head_dropout)


def assemble(config: UnderstandingRun, folder: Path, device: torch.device) -> Assembly:
    """Model, objective, optimiser and loaders of a prepared run."""
    reader = build_reader(config, folder)
    torch.manual_seed(config.seed)
    model = build_model(config, reader.labels)
    if config.init == "weights":
        load_body(model, folder)
    model = model.to(device)
    chosen = config.fine_tuning
    share = rate_share(
        config.model.num_layers,
        chosen.layer_decay,
        chosen.frozen_layers,
        chosen.frozen_embeddings,
    )
    kind = config.data.kind
    training, validation = (
        ExampleSamples(
            reader.read_to_learn(load_examples(folder / "data", split, kind)),
            kind,
            config.batches,
            config.seed,
            shuffle=split == "train",
        )
        for split in ("train", "valid")
    )
    objective = UnderstandingObjective(model, config.objective, reader.labels)
    return assemble_one(config, objective, training, validation, share)


TASK = Task(
    "understanding",
    UnderstandingRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=("tokenizer.json", "labels.json", "data", INITIAL),
    assets=("tokenizer.json", "labels.json"),
    resolved=(
        "trainer.max_steps",
        "trainer.validate_every",
        "trainer.checkpoint_every",
        "schedule.warmup_steps",
    ),
)
