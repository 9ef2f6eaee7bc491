"""The autoencoder of Adam's paper, on which bias correction is tried: its run and its recipe."""

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
from landmark.engine.settings import TrainerConfig, resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.autoencoder import AutoencoderConfig, VariationalAutoencoder
from landmark.objectives.variational import VariationalObjective
from landmark.tasks.assembly import assemble_one
from landmark.tasks.catalog import recipe
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.image_classification.adam import CONSTANT, adam
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
    form, images, valid_images = prepare_images(config.data, folder, report)
    ones = (1.0,) * form.channels
    form = dataclasses.replace(form, mean=(0.0,) * form.channels, deviation=ones)
    form.save(folder / FILE)
    batches = math.ceil(images / config.batches.size)
    trainer = resolve_epochs(config.trainer, batches)
    counts = {"images": images, "valid_images": valid_images, "batches": batches}
    report({"kind": "data", **counts, "max_steps": trainer.max_steps})
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
    resolved=("model.channels", "trainer.max_steps"),
)


@recipe("race-vae", system="adam", summary="a variational autoencoder on MNIST: figure 4")
def race_vae() -> AutoencodingRun:
    """588 updates a pass, of a hundred images as in Kingma and Welling 2013."""
    return AutoencodingRun(
        data=ImageDataConfig(corpus="mnist", validation=0.02),
        optimizer=adam(),
        schedule=CONSTANT,
        batches=ImageBatchConfig(size=100),
        trainer=TrainerConfig(
            epochs=100,
            log_every=118,
            validate_every=588,
            checkpoint_every=588,
            keep_last=1,
            monitor="loss",
        ),
    )
