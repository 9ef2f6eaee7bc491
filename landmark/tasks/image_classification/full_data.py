"""The papers' own trainings on their full data: CIFAR-10 whole, and folders of ImageNet.

They are for accelerators; docs/image_networks.md has what they cost and where they depart from the
papers. A folder of ImageNet has train/ and val/ with a folder a class: `--data FOLDER`.
"""

from typing import Any

from landmark.data.images.augment import AugmentConfig
from landmark.data.images.corpus import ImageDataConfig
from landmark.data.images.samples import ImageBatchConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.nin import NINConfig
from landmark.models.convolutional.resnet import VARIANTS as RESNETS
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.vision import VisionConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.image_classification.run import ImageClassificationRun

_SHIFTED = AugmentConfig(padding=4, flip=True)
"""He et al. section 4.2: a random crop of the padded image or of its mirror image."""
_ALEXNETS = AugmentConfig(flip=True, components=0.1)
"""Krizhevsky et al. section 4.1: random crops, mirror images, and shifts of colours."""
_SCALED = AugmentConfig(area=(0.08, 1.0), flip=True, components=0.1)


def _momentum(weight_decay: float) -> OptimizerConfig:
    """All these papers: momentum 0.9, and a decay of all weights, biases and norms too."""
    return OptimizerConfig(name="sgd", momentum=0.9, weight_decay=weight_decay)


def _plateau(rate: float, reductions: int, patience: int) -> ScheduleConfig:
    """A tenth of the rate whenever validation stops improving, so many times."""
    floor = 0.1**reductions
    return ScheduleConfig(name="plateau", rate=rate, warmup_steps=0, patience=patience, floor=floor)


def _trainer(validate_every: int, **length: Any) -> TrainerConfig:
    return TrainerConfig(
        **length,
        log_every=100,
        validate_every=validate_every,
        checkpoint_every=validate_every,
        keep_last=2,
        monitor="accuracy",
        higher_is_better=True,
    )


def _cifar10(
    model: VisionConfig,
    optimizer: OptimizerConfig,
    schedule: ScheduleConfig,
    trainer: TrainerConfig,
) -> ImageClassificationRun:
    """45,000 images to learn from, 5,000 to validate: 352 updates a pass."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="cifar10", validation=0.1),
        augment=_SHIFTED,
        model=model,
        optimizer=optimizer,
        schedule=schedule,
        batches=ImageBatchConfig(size=128, workers=2),
        trainer=trainer,
    )


def _resnet_cifar10(depth: int, warmup_steps: int) -> ImageClassificationRun:
    """64,000 updates, a tenth of the rate after 32,000 and 48,000."""
    schedule = ScheduleConfig(
        name="step", rate=0.1, warmup_steps=warmup_steps, milestones=(0.5, 0.75)
    )
    network = RESNETS[f"resnet-cifar-{depth}"]
    return _cifar10(network, _momentum(1e-4), schedule, _trainer(1000, max_steps=64_000))


@recipe("resnet20-cifar10", system="resnet", summary="the paper's ResNet-20 on all of CIFAR-10")
def resnet20_cifar10() -> ImageClassificationRun:
    return _resnet_cifar10(20, warmup_steps=0)


@recipe("resnet110-cifar10", system="resnet", summary="the paper's ResNet-110 on all of CIFAR-10")
def resnet110_cifar10() -> ImageClassificationRun:
    """The paper begins it at a lower rate for about 400 updates, or it would not begin to learn."""
    return _resnet_cifar10(110, warmup_steps=400)


@recipe("nin-cifar10", system="nin", summary="Network in Network on all of CIFAR-10")
def nin_cifar10() -> ImageClassificationRun:
    """The paper's schedule: a tenth when it stops improving, twice. Its numbers are not told."""
    return _cifar10(
        NINConfig(classes=10),
        _momentum(5e-4),
        _plateau(0.02, reductions=2, patience=20),
        _trainer(352, epochs=230, clip_norm=5.0),
    )


def _imagenet(
    model: VisionConfig,
    augment: AugmentConfig,
    batch: int,
    optimizer: OptimizerConfig,
    schedule: ScheduleConfig,
    epochs: float,
) -> ImageClassificationRun:
    """1,281,167 images to learn from, 50,000 to validate, the shorter side 256 pixels."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="files", size=256),
        augment=augment,
        model=model,
        optimizer=optimizer,
        schedule=schedule,
        batches=ImageBatchConfig(size=batch, workers=8),
        # AlexNet takes 900,900 updates; max_steps, 100,000 by default, would end it before
        trainer=_trainer(1_281_167 // batch + 1, epochs=epochs, max_steps=1_000_000),
    )


@recipe("alexnet-imagenet", system="alexnet", summary="the paper's AlexNet: --data IMAGENET")
def alexnet_imagenet() -> ImageClassificationRun:
    schedule = _plateau(0.01, reductions=3, patience=5)
    return _imagenet(AlexNetConfig(), _ALEXNETS, 128, _momentum(5e-4), schedule, epochs=90)


@recipe("vgg16-imagenet", system="vgg", summary="the paper's VGG-16 (D): --data IMAGENET")
def vgg16_imagenet() -> ImageClassificationRun:
    schedule = _plateau(0.01, reductions=3, patience=5)
    network = VGGConfig(layout="d")
    return _imagenet(network, _ALEXNETS, 256, _momentum(5e-4), schedule, epochs=74)


@recipe("resnet50-imagenet", system="resnet", summary="the paper's ResNet-50: --data IMAGENET")
def resnet50_imagenet() -> ImageClassificationRun:
    schedule = _plateau(0.1, reductions=3, patience=5)
    return _imagenet(RESNETS["resnet-50"], _SCALED, 256, _momentum(1e-4), schedule, epochs=120)
