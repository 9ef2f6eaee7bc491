"""Recipes for image tagging: encoders that learn from captions what is to be seen."""

from landmark.data.captions.corpus import CaptionDataConfig
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.samples import ImageBatchConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import System, add_system, recipe
from landmark.tasks.image_tagging.run import ImageTaggingRun

add_system(
    System(
        "visual-words",
        "Fang et al., From Captions to Visual Concepts and Back, arXiv 1411.4952",
        2015,
        "image-tagging",
        what="image network that learns the words of captions",
    )
)


def _adamw(weight_decay: float) -> OptimizerConfig:
    return OptimizerConfig(
        name="adamw", betas=(0.9, 0.98), epsilon=1e-8, weight_decay=weight_decay, decay="matrices"
    )


def _trainer(epochs: float, validate_every: int, log_every: int) -> TrainerConfig:
    return TrainerConfig(
        epochs=epochs,
        log_every=log_every,
        validate_every=validate_every,
        checkpoint_every=validate_every,
        keep_last=1,
        monitor="map",
        higher_is_better=True,
    )


@recipe(
    "words-flickr8k",
    system="visual-words",
    summary="words of Flickr8k's captions: an encoder for captioning",
    minutes=15.2,
    reaches="mAP 10.1 % of 801 words on valid (word frequencies: 1.9), one busy thread",
)
def words_flickr8k() -> ImageTaggingRun:
    """94 updates a pass. Crops of 64 pixels, then whole images of 96: a last map of 6x6."""
    return ImageTaggingRun(
        data=CaptionDataConfig(corpus="flickr8k", size=96, fit="squeeze"),
        augment=AugmentConfig(
            area=(0.25, 1.0), flip=True, brightness=0.3, contrast=0.3, saturation=0.3
        ),
        train_size=64,
        model=ResNet9Config(image_size=96, width=64, blocks=(1, 1), stem="imagenet"),
        optimizer=_adamw(0.05),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=100),
        batches=ImageBatchConfig(size=64),
        trainer=_trainer(24, 376, 94),
    )


@recipe(
    "words-scenes",
    system="visual-words",
    summary="words of the captions of drawn scenes: nothing to download",
)
def words_scenes() -> ImageTaggingRun:
    return ImageTaggingRun(
        data=CaptionDataConfig(corpus="scenes", size=64),
        model=ResNet9Config(image_size=64, width=32, blocks=(1, 1), stem="imagenet"),
        optimizer=_adamw(0.05),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=50),
        batches=ImageBatchConfig(size=64),
        trainer=_trainer(10, 63, 63),
    )
