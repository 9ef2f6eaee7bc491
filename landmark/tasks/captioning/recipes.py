"""Show, Attend and Tell, its baseline without attention, and a Transformer, as recipes."""

import torch
from torch import Tensor

from landmark.data.captions.corpus import CaptionDataConfig
from landmark.data.captions.pairs import CaptionBatchConfig
from landmark.data.captions.vocabulary import WordTokenizerConfig
from landmark.data.images.augment import AugmentConfig
from landmark.engine.settings import TrainerConfig
from landmark.layers.packing import Packing
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from landmark.models.captioning.transformer import CaptionTransformer, CaptionTransformerConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.objectives.captioning import CaptioningConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.captioning.run import CaptioningRun
from landmark.tasks.catalog import Network, System, add_system, recipe

PUBLISHED = ShowAttendTellConfig(
    vocab_size=10_000,
    encoder=None,
    feature_size=512,
    places=196,
    embedding_size=512,
    hidden_size=1800,
    attention_layers=2,
    initial_layers=2,
)
"""The settings that the paper's code has for COCO: VGG's conv5_3, 14x14 places of 512 numbers."""


def write_once(model: Captioner) -> Tensor:
    """A caption of 16 words through a network, to count its work by."""
    places, size = model.config.places, model.config.feature_size
    rows = torch.zeros(places, size, device="meta")
    tokens = torch.zeros(16, dtype=torch.int64, device="meta")
    return model.logits(model(rows, Packing.full(1, places), tokens, Packing.full(1, 16)))


add_system(
    System(
        "show-attend-tell",
        "Xu et al., Show, Attend and Tell: Neural Image Caption Generation with Visual Attention, "
        "arXiv 1502.03044",
        2015,
        "captioning",
        (
            Network(
                "sat",
                ShowAttendTell,
                PUBLISHED,
                write_once,
                35_333_450,
                note="decoder at the settings released for COCO",
                counted_for="a caption of 16 words",
            ),
            Network(
                "caption-transformer",
                CaptionTransformer,
                CaptionTransformerConfig(
                    vocab_size=10_000, encoder=None, feature_size=512, places=196
                ),
                write_once,
                note="a Transformer's decoder over the same places, of our own",
                counted_for="a caption of 16 words",
            ),
        ),
        what="image captioning with attention",
    )
)


def _trainer(epochs: float, every: int) -> TrainerConfig:
    return TrainerConfig(
        epochs=epochs,
        log_every=100,
        validate_every=every,
        checkpoint_every=every,
        keep_last=2,
        clip_norm=5.0,
        monitor="cider",
        higher_is_better=True,
    )


_ADAM = OptimizerConfig(name="adam")


@recipe(
    "caption-scenes",
    system="show-attend-tell",
    summary="drawn shapes and captions that are true of them: nothing to download",
    minutes=6.5,
    reaches="81.6 % of captions true of unseen scenes",
)
def caption_scenes() -> CaptioningRun:
    return CaptioningRun(
        data=CaptionDataConfig(corpus="scenes", scenes=8000),
        tokenizer=WordTokenizerConfig(min_count=1),
        model=ShowAttendTellConfig(
            encoder=ResNet9Config(image_size=96, width=24, blocks=(1, 1), stem="imagenet"),
            fine_tune=True,
            embedding_size=128,
            hidden_size=256,
            dropout=0.1,
        ),
        optimizer=_ADAM,
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=100),
        trainer=_trainer(4, 500),
    )


@recipe(
    "caption-flickr8k",
    system="show-attend-tell",
    summary="photographs (--init-from a run of words-flickr8k)",
    minutes=20.0,
    reaches="BLEU-4 14.84, CIDEr-D 0.306 on test",
)
def caption_flickr8k() -> CaptioningRun:
    return CaptioningRun(
        data=CaptionDataConfig(corpus="flickr8k"),
        augment=AugmentConfig(flip=True),
        model=ShowAttendTellConfig(embedding_size=256, hidden_size=512),
        optimizer=_ADAM,
        schedule=ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=200),
        trainer=_trainer(8, 470),
    )


@recipe(
    "caption-transformer-flickr8k",
    system="show-attend-tell",
    summary="the same with a Transformer's decoder (--init-from a run of words-flickr8k)",
)
def caption_transformer_flickr8k() -> CaptioningRun:
    return CaptioningRun(
        data=CaptionDataConfig(corpus="flickr8k"),
        augment=AugmentConfig(flip=True),
        model=CaptionTransformerConfig(),
        objective=CaptioningConfig(label_smoothing=0.1),
        optimizer=OptimizerConfig(name="adam", betas=(0.9, 0.98), epsilon=1e-9),
        schedule=ScheduleConfig(name="cosine", rate=5e-4, warmup_steps=400),
        batches=CaptionBatchConfig(size=64),
        trainer=_trainer(10, 470),
    )


@recipe(
    "caption-files",
    system="show-attend-tell",
    summary="your own images: --captions FILE --images FOLDER",
)
def caption_files() -> CaptioningRun:
    return CaptioningRun(
        data=CaptionDataConfig(corpus="files"),
        augment=AugmentConfig(flip=True),
        model=ShowAttendTellConfig(
            encoder=ResNet9Config(image_size=96, width=64, blocks=(1, 1), stem="imagenet"),
            fine_tune=True,
        ),
        optimizer=_ADAM,
        schedule=ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=200),
        trainer=_trainer(8, 500),
    )
