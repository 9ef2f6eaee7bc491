"""Images of Adam's paper: logistic regression and dense layers on MNIST, convolutions on CIFAR.

Lengths and batches are the paper's.
"""

from landmark.data.images.corpus import ImageDataConfig
from landmark.data.images.samples import ImageBatchConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.convolutional.plain import PlainConfig
from landmark.models.dense import DenseConfig
from landmark.models.vision import VisionConfig
from landmark.optim.adam_paper import CONSTANT, FALLING, adam
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.image_classification.run import ImageClassificationRun


def _trainer(passes: int, epochs: float) -> TrainerConfig:
    """Measured once a pass over the data."""
    return TrainerConfig(
        epochs=epochs,
        log_every=max(1, passes // 5),
        validate_every=passes,
        checkpoint_every=passes,
        keep_last=1,
        monitor="accuracy",
        higher_is_better=True,
    )


def _mnist(
    model: VisionConfig,
    epochs: float,
    schedule: ScheduleConfig = CONSTANT,
    weight_decay: float = 0.0,
) -> ImageClassificationRun:
    """460 updates a pass; a fiftieth of the images is held out, to choose rates by."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="mnist", validation=0.02),
        model=model,
        optimizer=adam(weight_decay),
        schedule=schedule,
        batches=ImageBatchConfig(size=128),
        trainer=_trainer(460, epochs),
    )


@recipe("race-logistic", system="adam", summary="logistic regression on MNIST: figure 1")
def race_logistic() -> ImageClassificationRun:
    return _mnist(DenseConfig(widths=()), 45, FALLING, weight_decay=1e-4)


@recipe("race-mlp", system="adam", summary="784-1000-1000-10 with dropout on MNIST: figure 2a")
def race_mlp() -> ImageClassificationRun:
    return _mnist(DenseConfig(dropout=0.5), 200)


@recipe(
    "race-mlp-deterministic",
    system="adam",
    summary="784-1000-1000-10 without dropout, as a line search needs: figure 2b",
)
def race_mlp_deterministic() -> ImageClassificationRun:
    return _mnist(DenseConfig(), 200, weight_decay=1e-4)


@recipe("race-cifar", system="adam", summary="c64-c64-c128-1000 on a quarter of CIFAR-10: figure 3")
def race_cifar() -> ImageClassificationRun:
    """94 updates a pass: twelve passes are as many as three over all of CIFAR-10."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="cifar10-jpeg", validation=0.04),
        model=PlainConfig(),
        optimizer=adam(),
        schedule=CONSTANT,
        batches=ImageBatchConfig(size=128),
        trainer=_trainer(94, 12),
    )
