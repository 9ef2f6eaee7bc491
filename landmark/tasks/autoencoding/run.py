"""A variational autoencoder of images: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Literal

import torch

from landmark.core.configuration import settings
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.corpus import ImageDataConfig, data_digest, open_split, prepare_images
from landmark.data.images.form import FILE, ImageForm
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.autoencoder import AutoencoderConfig, VariationalAutoencoder
from landmark.objectives.variational import VariationalObjective
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class AutoencodingRun(RunConfig):
    """A complete training of a variational autoencoder."""

    task: Literal["autoencoding"] = "autoencoding"
    data: ImageDataConfig = dataclasses.field(default_factory=ImageDataConfig)
    model: AutoencoderConfig = dataclasses.field(default_factory=AutoencoderConfig)
    batches: ImageBatchConfig = dataclasses.field(default_factory=ImageBatchConfig)


def prepare(
    config: AutoencodingRun, folder: Path, report: Report, origin: Origin | None = None
) -> AutoencodingRun:
    """Images into the run folder, of numbers from 0 to 1: probabilities of a Bernoulli."""
    if config.data.corpus == "files" and config.data.size is None:
        data = dataclasses.replace(config.data, size=config.model.image_size)
        config = dataclasses.replace(config, data=data)
    form, images, valid_images = prepare_images(config.data, folder, report)
    ones = (1.0,) * form.channels
    form = dataclasses.replace(form, mean=(0.0,) * form.channels, std=ones)
    form.save(folder / FILE)
    batches = math.ceil(images / config.batches.size)
    trainer = resolve_epochs(config.trainer, batches)
    counts = {"images": images, "valid_images": valid_images, "batches": batches}
    summary = f"{images:,} images to train on, {valid_images:,} to validate"
    summary += f"; {batches:,} updates a pass"
    report({"kind": "data", **counts, "max_steps": trainer.max_steps, "summary": summary})
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, channels=form.channels),
        trainer=trainer,
    )


def assemble(config: AutoencodingRun, folder: Path, device: torch.device) -> Assembly:
    """Network, objective, optimiser and loaders of a prepared run."""
    torch.manual_seed(config.seed)
    model = VariationalAutoencoder(config.model).to(device)
    form = ImageForm.load(folder / FILE)
    training, validation = (
        ImageSamples(
            open_split(config.data, folder, split),
            form,
            config.batches,
            config.model.image_size,
            config.seed,
            augment=AugmentConfig() if split == "train" else None,
            strict=config.data.strict,
        )
        for split in ("train", "valid")
    )
    return assemble_one(config, VariationalObjective(model), training, validation)


TASK = Task(
    "autoencoding",
    AutoencodingRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=(FILE, "data"),
    assets=(FILE,),
    resolved=("data.size", "model.channels", "trainer.max_steps"),
)
