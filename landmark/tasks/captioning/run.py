"""Image captioning: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import default_key, settings
from landmark.core.errors import UserError
from landmark.data.captions.corpus import (
    CaptionDataConfig,
    data_digest,
    open_split,
    prepare_captions,
)
from landmark.data.captions.pairs import CaptionBatchConfig, CaptionSamples
from landmark.data.captions.vocabulary import WordTokenizer, WordTokenizerConfig
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import FILE, ImageForm
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.translation.vocabulary import load_subwords
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.captioning.build import AnyCaptionerConfig, build_captioner, with_places
from landmark.models.captioning.captioner import ENCODER
from landmark.models.captioning.show_attend_tell import ShowAttendTellConfig
from landmark.objectives.captioning import CaptioningConfig, CaptioningObjective
from landmark.optim.optimizer import Share
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import assemble_one
from landmark.tasks.captioning.beginning import adopt, load_beginning, save_beginning
from landmark.tasks.captioning.encoding import encode_images
from landmark.tasks.captioning.validation import CaptionEvaluator, CaptionValidationConfig
from landmark.tasks.fine_tuning import INITIAL, Origin
from landmark.tasks.task import Assembly, RunConfig, Task

TOKENIZER = "tokenizer.json"


@settings
class CaptionSearchConfig:
    """How captions are searched."""

    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] = 5
    """Beam size; 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Exponent of the length penalty: 0 prefers short captions, larger values longer ones."""
    max_words: Annotated[int, Field(ge=1, le=limits.LENGTH)] = 30
    """Maximum number of words of a caption."""


@settings
class CaptioningRun(RunConfig):
    """A complete training of a captioner."""

    task: Literal["captioning"] = "captioning"
    data: CaptionDataConfig = dataclasses.field(default_factory=CaptionDataConfig)
    tokenizer: WordTokenizerConfig = dataclasses.field(default_factory=WordTokenizerConfig)
    augment: AugmentConfig = dataclasses.field(default_factory=AugmentConfig)
    model: Annotated[
        AnyCaptionerConfig,
        Field(discriminator="architecture"),
        default_key("architecture", "show-attend-tell"),
    ] = dataclasses.field(default_factory=ShowAttendTellConfig)
    encoder_rate: Annotated[float, Field(gt=0, le=10)] = 1.0
    """With model.fine_tune: the encoder's learning rate as a multiple of the decoder's."""
    objective: CaptioningConfig = dataclasses.field(default_factory=CaptioningConfig)
    batches: CaptionBatchConfig = dataclasses.field(default_factory=CaptionBatchConfig)
    search: CaptionSearchConfig = dataclasses.field(default_factory=CaptionSearchConfig)
    validation: CaptionValidationConfig = dataclasses.field(default_factory=CaptionValidationConfig)
    schedule: ScheduleConfig = dataclasses.field(
        default_factory=lambda: ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=100)
    )

    @model_validator(mode="after")
    def _goes_together(self) -> "CaptioningRun":
        if self.schedule.name == "noam":
            raise ValueError("schedule.name: noam is made for Transformers of text: take cosine")
        if self.trainer.sharded:
            raise ValueError("trainer.sharded: a captioner is not cut into shards: leave it out")
        if self.augment.mixes:
            raise ValueError("augment: mixed images have no caption: leave out mixup and cutmix")
        if self.model.encoder is None:
            raise ValueError("model.encoder: a run reads images: choose an image network")
        return self


def prepare(
    config: CaptioningRun, folder: Path, report: Report, origin: Origin | None = None
) -> CaptioningRun:
    """Images, captions, vocabulary and the weights to begin with into the run folder."""
    if origin:
        config = adopt(config, origin)
    elif not config.model.fine_tune:
        raise UserError(
            "model.fine_tune=false: a frozen encoder must have learnt something: begin from a run "
            "(--init-from RUN, as one of words-flickr8k), or set model.fine_tune=true"
        )
    only_flip = AugmentConfig(flip=config.augment.flip)
    if not config.model.fine_tune and config.augment != only_flip:
        raise UserError(
            "augment: the maps of a frozen encoder are computed once, of each image and its "
            "mirror image: keep only augment.flip, or set model.fine_tune=true"
        )
    with torch.device("meta"):
        build_captioner(dataclasses.replace(config.model, vocab_size=4))
    form = prepare_captions(config.data, folder, report)
    config.augment.check(form.channels)
    training = open_split(folder, "train")
    tokenizer: SubwordTokenizer = WordTokenizer.learn(training.texts(), config.tokenizer)
    if origin:
        theirs = ImageForm.load(origin.run.folder / FILE)
        dataclasses.replace(form, mean=theirs.mean, std=theirs.std).save(folder / FILE)
        if origin.config.task == "captioning":
            tokenizer = load_subwords(origin.run.folder / TOKENIZER)
    tokenizer.save(folder / TOKENIZER)
    model = dataclasses.replace(with_places(config.model), vocab_size=len(tokenizer))
    batches = math.ceil(len(training.pairs) / config.batches.size)
    trainer = resolve_epochs(config.trainer, batches)
    warmup = min(config.schedule.warmup_steps, math.ceil(trainer.max_steps / 4))
    schedule = dataclasses.replace(config.schedule, warmup_steps=warmup)
    config = dataclasses.replace(config, model=model, trainer=trainer, schedule=schedule)
    text = f"{len(tokenizer):,} words; {batches:,} updates a pass"
    report({"kind": "data", "words": len(tokenizer), "batches": batches, "summary": text,
            "max_steps": trainer.max_steps})  # fmt: skip
    if origin:
        save_beginning(origin, folder)
    return config


def assemble(config: CaptioningRun, folder: Path, device: torch.device) -> Assembly:
    """Network, objective, optimiser and loaders of a prepared run."""
    assert config.model.encoder is not None
    torch.manual_seed(config.seed)
    model = build_captioner(config.model)
    if config.init_from:
        load_beginning(model, folder)
    model.to(device)
    tokenizer, form = load_subwords(folder / TOKENIZER), ImageForm.load(folder / FILE)
    side = config.model.encoder.image_size

    def samples(split: str) -> CaptionSamples:
        found, trains, places = open_split(folder, split), split == "train", None
        if not config.model.fine_tune:
            mirrored = trains and config.augment.flip
            places = encode_images(model, found.images, form, side, device, mirrored)
        return CaptionSamples(
            found,
            tokenizer,
            form,
            config.batches,
            side,
            config.model.max_length,
            config.seed,
            augment=config.augment if trains else None,
            places=places,
            num_places=config.model.places or 1,
        )

    objective = CaptioningObjective(model, config.objective)
    share = _encoder_share(config.encoder_rate)
    assembly = assemble_one(config, objective, samples("train"), samples("valid"), share)
    if not config.validation.cider:
        return assembly
    evaluator = CaptionEvaluator(
        model, tokenizer, form, open_split(folder, "valid"), config.search.max_words,
        config.validation, device,
    )  # fmt: skip
    return dataclasses.replace(assembly, evaluator=evaluator, remarks=evaluator.remarks)


def _encoder_share(rate: float) -> Share:
    """The part of the learning rate that each parameter takes, by its name."""
    return lambda name: rate if name.startswith(ENCODER) else 1.0


TASK = Task(
    "captioning",
    CaptioningRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=(FILE, TOKENIZER, "data", INITIAL),
    assets=(FILE, TOKENIZER),
    resolved=(
        "data.size",
        "model.vocab_size",
        "model.feature_size",
        "model.places",
        "trainer.max_steps",
        "schedule.warmup_steps",
    ),
)
