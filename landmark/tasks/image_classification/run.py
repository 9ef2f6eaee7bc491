"""Image classification: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import default_key, settings
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.corpus import (
    ImageDataConfig,
    data_digest,
    open_split,
    prepare_images,
)
from landmark.data.images.form import FILE, ImageForm
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.convolutional.lenet import LeNetConfig
from landmark.models.vision import VisionConfig, build_network, lay_out
from landmark.objectives.classification import (
    ClassificationConfig,
    ClassificationObjective,
    weigh_classes,
)
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import INITIAL, Origin
from landmark.tasks.image_classification.fine_tuning import (
    ImageFineTuningConfig,
    ImageOrigin,
    freeze,
    load_initial,
    rate_share,
)
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class ImageClassificationRun(RunConfig):
    """A complete training of an image classifier."""

    task: Literal["image-classification"] = "image-classification"
    data: ImageDataConfig = dataclasses.field(default_factory=ImageDataConfig)
    augment: AugmentConfig = dataclasses.field(default_factory=AugmentConfig)
    model: Annotated[
        VisionConfig, Field(discriminator="architecture"), default_key("architecture", "lenet")
    ] = dataclasses.field(default_factory=LeNetConfig)
    fine_tuning: ImageFineTuningConfig = dataclasses.field(default_factory=ImageFineTuningConfig)
    objective: ClassificationConfig = dataclasses.field(default_factory=ClassificationConfig)
    batches: ImageBatchConfig = dataclasses.field(default_factory=ImageBatchConfig)
    schedule: ScheduleConfig = dataclasses.field(
        default_factory=lambda: ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=100)
    )

    @model_validator(mode="after")
    def _goes_together(self) -> "ImageClassificationRun":
        if self.schedule.name == "noam":
            raise ValueError("schedule.name: noam is made for Transformers of text: take cosine")
        if self.trainer.sharded:
            raise ValueError(
                "trainer.sharded: batch norms are not cut into shards: leave it out (every process "
                "then holds the whole network)"
            )
        return self


def prepare(
    config: ImageClassificationRun, folder: Path, report: Report, origin: Origin | None = None
) -> ImageClassificationRun:
    """Images, classes and, for fine-tuning, the weights to begin with into the run folder."""
    begun = ImageOrigin.of(origin) if origin else None
    if begun:
        config = begun.adopted_by(config)
    elif config.data.corpus == "files" and config.data.size is None:
        data = dataclasses.replace(config.data, size=config.model.image_size)
        config = dataclasses.replace(config, data=data)
    _check_network(config)
    form, images, valid_images = prepare_images(config.data, folder, report)
    config.augment.check(form.channels)
    if begun:
        form = begun.colours_for(form)
        form.save(folder / FILE)
    model = dataclasses.replace(config.model, classes=len(form.names), channels=form.channels)
    config = dataclasses.replace(config, model=model)
    _check_network(config)
    batches = math.ceil(images / config.batches.size)
    config = _timed(config, batches)
    counts: dict[str, object] = {"images": images, "valid_images": valid_images, "batches": batches}
    counts["summary"] = (
        f"{images:,} images to train on, {valid_images:,} to validate; {batches:,} updates a pass"
    )
    report({"kind": "data", **counts, "max_steps": config.trainer.max_steps})
    if begun:
        begun.save(config.model, form, folder)
    return config


def _check_network(config: ImageClassificationRun) -> None:
    """What does not fit shows before images are decoded, and before the run begins."""
    with torch.device("meta"):
        freeze(build_network(config.model), config.fine_tuning)


def _timed(config: ImageClassificationRun, batches: int) -> ImageClassificationRun:
    """Passes over the data as steps; in short trainings the warm-up is shorter, too."""
    trainer = resolve_epochs(config.trainer, batches)
    warmup = min(config.schedule.warmup_steps, math.ceil(trainer.max_steps / 4))
    schedule = dataclasses.replace(config.schedule, warmup_steps=warmup)
    return dataclasses.replace(config, trainer=trainer, schedule=schedule)


def assemble(config: ImageClassificationRun, folder: Path, device: torch.device) -> Assembly:
    """Network, objective, optimiser and loaders of a prepared run."""
    torch.manual_seed(config.seed)
    model = build_network(config.model)
    if config.init_from:
        load_initial(model, folder)
    model = lay_out(model.to(device))
    frozen = freeze(model, config.fine_tuning)
    form = ImageForm.load(folder / FILE)
    training, validation = (
        ImageSamples(
            open_split(config.data, folder, split),
            form,
            config.batches,
            config.model.image_size,
            config.seed,
            augment=config.augment if split == "train" else None,
            strict=config.data.strict,
        )
        for split in ("train", "valid")
    )
    weights = weigh_classes(config.objective, torch.from_numpy(training.images.labels), form.names)
    weights = None if weights is None else weights.to(device)
    objective = ClassificationObjective(model, config.objective, frozen, weights)
    share = rate_share(model, config.fine_tuning.stage_decay)
    return assemble_one(config, objective, training, validation, share)


TASK = Task(
    "image-classification",
    ImageClassificationRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=(FILE, "data", INITIAL),
    assets=(FILE,),
    resolved=(
        "data.size",
        "data.channels",
        "data.interpolation",
        "model.classes",
        "model.channels",
        "trainer.max_steps",
        "schedule.warmup_steps",
    ),
)
