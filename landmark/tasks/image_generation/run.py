"""A GAN of images: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from landmark.core.configuration import default_key, settings
from landmark.core.errors import UserError
from landmark.data.images.adversarial import AdversarialImageBatchConfig, AdversarialImages
from landmark.data.images.corpus import ImageDataConfig, data_digest, open_split, prepare_images
from landmark.data.images.form import FILE, ImageForm
from landmark.data.loader import Loader
from landmark.data.noise import NoiseConfig
from landmark.engine import distributed
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.adversarial.dcgan import DcganConfig
from landmark.models.adversarial.maxout import MaxoutGanConfig
from landmark.models.adversarial.players import build_players
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.fine_tuning import Origin, load_initial
from landmark.tasks.image_generation.judge import JudgeConfig
from landmark.tasks.image_generation.validation import SampleEvaluator, diagnose
from landmark.tasks.task import Assembly, RunConfig, Task

PLAYERS = ("generator", "discriminator")


@settings
class PictureDataConfig(ImageDataConfig):
    """Image data without classes; images become as large as the networks' (model.image_size)."""

    has_classes: ClassVar[bool] = False


@settings
class ImageGenerationRun(RunConfig):
    """A complete training of a GAN of images."""

    task: Literal["image-generation"] = "image-generation"
    data: PictureDataConfig = dataclasses.field(default_factory=PictureDataConfig)
    noise: NoiseConfig = dataclasses.field(default_factory=lambda: NoiseConfig(noise_size=100))
    model: Annotated[
        DcganConfig | MaxoutGanConfig,
        Field(discriminator="architecture"),
        default_key("architecture", "dcgan"),
    ] = dataclasses.field(default_factory=DcganConfig)
    objective: AdversarialConfig = dataclasses.field(default_factory=AdversarialConfig)
    batches: AdversarialImageBatchConfig = dataclasses.field(
        default_factory=AdversarialImageBatchConfig
    )
    judge: JudgeConfig = dataclasses.field(default_factory=JudgeConfig)

    @model_validator(mode="after")
    def _goes_together(self) -> "ImageGenerationRun":
        if self.batches.size % self.objective.pack:
            raise ValueError(
                f"batches.size: must be divisible by objective.pack, {self.objective.pack}"
            )
        if self.data.size is not None:
            raise ValueError("data.size: images get the networks' size: set model.image_size")
        if self.schedule.name == "noam":
            raise ValueError("schedule.name: noam is made for Transformers of text: take constant")
        if self.trainer.sharded:
            raise ValueError("trainer.sharded: batch norms are not cut into shards: leave it out")
        return self


def prepare(
    config: ImageGenerationRun, folder: Path, report: Report, origin: Origin | None = None
) -> ImageGenerationRun:
    """Images of the networks' size, as they see them, into the run folder."""
    if origin:
        config = adopt(config, origin)
    form, images, valid_images = prepare_images(config.data, folder, report, config.model.shape)
    _check(config, form, images)
    low = config.model.low
    mean, std = (-low / (1 - low),) * form.channels, (1 / (1 - low),) * form.channels
    form = dataclasses.replace(form, mean=mean, std=std)
    form.save(folder / FILE)
    batches = math.ceil(images / (config.batches.size * config.objective.discriminator_steps))
    trainer = resolve_epochs(config.trainer, batches)
    counts = {"images": images, "valid_images": valid_images, "batches": batches}
    summary = f"{images:,} images to train on, {valid_images:,} to validate"
    summary += f"; {batches:,} updates a pass"
    report({"kind": "data", **counts, "max_steps": trainer.max_steps, "summary": summary})
    if origin:
        weights = {
            f"{player}.{name}": tensor
            for player in PLAYERS
            for name, tensor in origin.weights(player).items()
        }
        origin.save(folder, weights)
    channels: Literal[1, 3] = 1 if form.channels == 1 else 3
    model = dataclasses.replace(config.model, channels=channels)
    return dataclasses.replace(config, model=model, trainer=trainer)


def adopt(config: ImageGenerationRun, origin: Origin) -> ImageGenerationRun:
    """A configuration with the shape of another run's networks."""
    theirs, wanted = origin.config, config.model.architecture
    if theirs.model.architecture != wanted:
        raise UserError(
            f"{origin.run.folder}: is a model of architecture {theirs.model.architecture!r}, not "
            f"{wanted!r}: begin from one of the same"
        )
    model = origin.take_shape(config.model)
    if config.data.channels not in (None, model.channels):
        raise UserError(
            f"data.channels is {config.data.channels}, but {origin.run.folder} was trained on "
            f"images of {model.channels}: leave it out"
        )
    return dataclasses.replace(
        config,
        model=model,
        noise=theirs.noise,
        data=dataclasses.replace(config.data, channels=model.channels),
        objective=dataclasses.replace(config.objective, pack=theirs.objective.pack),
    )


def _check(config: ImageGenerationRun, form: ImageForm, images: int) -> None:
    """Refuse too few images, and changes of colours that grey images do not have."""
    if images < config.batches.size:
        raise UserError(
            f"there are {images} images to train on, fewer than one batch: give more, or lower "
            f"batches.size from {config.batches.size}"
        )
    if all(std == 1.0 for std in form.std):  # as `measure` says of what never changes
        raise UserError("all images are of one and the same colour: there is nothing to learn")


def assemble(config: ImageGenerationRun, folder: Path, device: torch.device) -> Assembly:
    """Both players, objective, optimisers, loaders and what judges the samples."""
    torch.manual_seed(config.seed)
    players = build_players(config.model, config.noise.noise_size, config.objective.pack)
    if config.init_from:
        load_initial(nn.ModuleDict(dict(zip(PLAYERS, players, strict=True))), folder)
    generator, discriminator = (player.to(device) for player in players)
    form = ImageForm.load(folder / FILE)
    images = {split: open_split(config.data, folder, split) for split in ("train", "valid")}

    def loader(split: str, seed: int, accumulate: int, steps: int) -> Loader:
        samples = AdversarialImages(
            images[split],
            form,
            config.batches,
            config.noise,
            seed,
            steps=steps,
            shuffle=split == "train",
            strict=config.data.strict,
        )
        return Loader(
            samples,
            accumulate=accumulate,
            rank=distributed.rank(),
            world_size=distributed.world_size(),
            workers=config.batches.workers,
        )

    objective = AdversarialObjective(generator, discriminator, config.objective)
    steps = config.objective.discriminator_steps
    evaluator = SampleEvaluator(config, folder, generator, form, images, device)
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective),
        source=loader("train", config.seed, config.trainer.accumulate, steps),
        validation=loader("valid", config.seed + 1, 1, 1),
        evaluator=evaluator,
        diagnose=diagnose,
    )


TASK = Task(
    "image-generation",
    ImageGenerationRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=(FILE, "data", "initial", "samples"),
    assets=(FILE,),
    resolved=("model.channels", "trainer.max_steps"),
)
