"""Image tagging: its configuration, and how a run is put together."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core import limits
from landmark.core.configuration import default_key, fingerprint, settings
from landmark.data.captions.corpus import (
    CaptionDataConfig,
    data_digest,
    open_split,
    prepare_captions,
)
from landmark.data.captions.tags import TagConfig, TagSamples, choose_tags, tag_shares
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import FILE, ImageForm
from landmark.data.images.samples import ImageBatchConfig
from landmark.data.text_file import digest_file
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.image import ImageNetwork
from landmark.models.vision import VisionConfig, build_network, lay_out
from landmark.objectives.tagging import TaggingConfig, TaggingObjective
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.image_tagging.validation import TagEvaluator
from landmark.tasks.task import Assembly, RunConfig, Task

_RAREST = 1e-3  # no word begins as less probable


@settings
class ImageTaggingRun(RunConfig):
    """A complete training of an image tagger."""

    task: Literal["image-tagging"] = "image-tagging"
    data: CaptionDataConfig = dataclasses.field(default_factory=CaptionDataConfig)
    tags: TagConfig = dataclasses.field(default_factory=TagConfig)
    augment: AugmentConfig = dataclasses.field(default_factory=AugmentConfig)
    train_size: Annotated[int, Field(ge=1, le=limits.PIXELS)] | None = None
    """Size of the training crops in pixels; null: model.image_size. Smaller crops train faster,
    and show objects about as large as whole images do (Touvron et al. 2019, arXiv 1906.06423).
    """
    model: Annotated[
        VisionConfig, Field(discriminator="architecture"), default_key("architecture", "resnet-9")
    ] = dataclasses.field(default_factory=ResNet9Config)
    objective: TaggingConfig = dataclasses.field(default_factory=TaggingConfig)
    batches: ImageBatchConfig = dataclasses.field(default_factory=ImageBatchConfig)
    schedule: ScheduleConfig = dataclasses.field(
        default_factory=lambda: ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=100)
    )

    @model_validator(mode="after")
    def _goes_together(self) -> "ImageTaggingRun":
        if self.schedule.name == "noam":
            raise ValueError("schedule.name: noam is made for Transformers of text: take cosine")
        if self.trainer.sharded:
            raise ValueError("trainer.sharded: batch norms are not cut into shards: leave it out")
        if self.batches.balanced:
            raise ValueError("batches.balanced: images with tags have no classes: leave it out")
        return self


def digest(config: ImageTaggingRun) -> str:
    """A digest of the images, captions and words that a configuration names."""
    known = data_digest(config.data)
    return fingerprint([known, digest_file(config.tags.file)]) if config.tags.file else known


def prepare(
    config: ImageTaggingRun, folder: Path, report: Report, origin: Origin | None = None
) -> ImageTaggingRun:
    """Images, captions and the words to learn into the run folder."""
    _check_network(config)
    form = prepare_captions(config.data, folder, report)
    config.augment.check(form.channels)
    captions = open_split(folder, "train").captions
    form = dataclasses.replace(form, names=choose_tags(captions, config.tags))
    form.save(folder / FILE)
    model = dataclasses.replace(config.model, classes=len(form.names), channels=form.channels)
    batches = math.ceil(len(captions) / config.batches.size)
    trainer = resolve_epochs(config.trainer, batches)
    warmup = min(config.schedule.warmup_steps, math.ceil(trainer.max_steps / 4))
    schedule = dataclasses.replace(config.schedule, warmup_steps=warmup)
    counts: dict[str, object] = {"tags": len(form.names), "batches": batches}
    counts["summary"] = (
        f"{len(form.names):,} words to learn ({', '.join(form.names[:5])}, …); "
        f"{batches:,} updates a pass"
    )
    report({"kind": "data", **counts, "max_steps": trainer.max_steps})
    return dataclasses.replace(config, model=model, trainer=trainer, schedule=schedule)


def _check_network(config: ImageTaggingRun) -> None:
    """What does not fit shows before images are decoded; training's crops must come through too."""
    with torch.device("meta"):
        build_network(config.model)
        if config.train_size:
            build_network(dataclasses.replace(config.model, image_size=config.train_size))


def assemble(config: ImageTaggingRun, folder: Path, device: torch.device) -> Assembly:
    """Network, objective, optimiser and loaders of a prepared run."""
    torch.manual_seed(config.seed)
    form = ImageForm.load(folder / FILE)
    training, _ = _read(config, folder, "train", form)
    validation, is_true = _read(config, folder, "valid", form)
    model = build_network(config.model)
    if config.objective.loss == "sigmoid":
        begin_at(model, training.targets.mean(0))
    model = lay_out(model.to(device))
    assembly = assemble_one(config, TaggingObjective(model, config.objective), training, validation)
    evaluator = TagEvaluator(model, config.objective, validation, is_true, device)
    return dataclasses.replace(assembly, evaluator=evaluator)


def _read(
    config: ImageTaggingRun, folder: Path, split: str, form: ImageForm
) -> tuple[TagSamples, NDArray[np.bool_]]:
    """A split's images with their targets, and whether any caption of an image has each word."""
    found, is_training = open_split(folder, split), split == "train"
    shares = tag_shares(found.captions, form.names)
    targets = shares if config.tags.target == "share" else (shares > 0).astype(np.float32)
    samples = TagSamples(
        found.images,
        torch.from_numpy(targets),
        form,
        config.batches,
        (is_training and config.train_size) or config.model.image_size,
        config.seed,
        augment=config.augment if is_training else None,
        strict=config.data.strict,
    )
    return samples, shares > 0


@torch.no_grad()
def begin_at(model: ImageNetwork, shares: Tensor) -> None:
    """Let a fresh network say of every image how frequent each tag is, if its head has a bias.

    So it need not learn first that most tags are rare (Lin et al. 2017, arXiv 1708.02002).
    """
    head = model.get_submodule(model.head)
    if isinstance(head, nn.Linear):
        head.bias.fill_(1.0)
        scale = model.classify(torch.zeros(1, head.in_features))[0]  # ResNet-9's is an eighth
        head.bias.copy_(shares.clamp(_RAREST, 1 - _RAREST).logit() / scale)


TASK = Task(
    "image-tagging",
    ImageTaggingRun,
    digest,
    prepare,
    assemble,
    prepared=(FILE, "data"),
    assets=(FILE,),
    resolved=("model.classes", "model.channels", "trainer.max_steps", "schedule.warmup_steps"),
)
