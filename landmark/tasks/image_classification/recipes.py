"""Recipes for image classification: from the embedded digits to your own folders of photographs.

Times are for two cores with AVX2. Networks with batch norms learn by gradient descent with
Nesterov's momentum, a rate that grows for a while and then falls to nothing as a cosine, weight
decay on kernels and not on norms; the others by AdamW.
"""

from landmark.data.images.augment import AugmentConfig
from landmark.data.images.corpus import ImageDataConfig
from landmark.data.images.samples import ImageBatchConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.googlenet import GoogLeNetConfig
from landmark.models.convolutional.highway import HighwayConfig
from landmark.models.convolutional.inception import InceptionBNConfig
from landmark.models.convolutional.lenet import LeNet1998Config, LeNetConfig
from landmark.models.convolutional.nin import NINConfig
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import VisionConfig
from landmark.objectives.classification import ClassificationConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.image_classification.run import ImageClassificationRun

_HANDWRITING = AugmentConfig(rotation=10.0, zoom=0.1, shear=5.0, shift=2.0)
"""Digits a little turned, slanted, larger, smaller and aside are still the same digits."""
_PHOTOGRAPHS = AugmentConfig(
    area=(0.35, 1.0), flip=True, brightness=0.2, contrast=0.2, saturation=0.2, mixup=0.2
)
"""So is a flower in another light, seen in the mirror, in parts, or through another."""
_SMOOTHED = ClassificationConfig(label_smoothing=0.1)


def _descent(weight_decay: float = 5e-4) -> OptimizerConfig:
    return OptimizerConfig(
        name="sgd", momentum=0.9, nesterov=True, weight_decay=weight_decay, decay="matrices"
    )


def _adam(weight_decay: float = 0.0) -> OptimizerConfig:
    return OptimizerConfig(
        name="adamw", betas=(0.9, 0.999), epsilon=1e-8, weight_decay=weight_decay, decay="matrices"
    )


def _cosine(rate: float, warmup_steps: int) -> ScheduleConfig:
    return ScheduleConfig(name="cosine", rate=rate, warmup_steps=warmup_steps)


def _divided(rate: float) -> ScheduleConfig:
    """The papers' schedule: a tenth of the rate after half of the training and three quarters."""
    return ScheduleConfig(name="step", rate=rate, warmup_steps=94)


def _trainer(
    epochs: float, validate_every: int, log_every: int = 50, clip_norm: float | None = None
) -> TrainerConfig:
    """The best is what names most images right."""
    return TrainerConfig(
        epochs=epochs,
        log_every=log_every,
        validate_every=validate_every,
        checkpoint_every=validate_every,
        keep_last=1,
        monitor="accuracy",
        higher_is_better=True,
        clip_norm=clip_norm,
    )


def _mnist(
    model: VisionConfig,
    optimizer: OptimizerConfig,
    rate: float,
    epochs: float,
    augment: AugmentConfig = _HANDWRITING,
    objective: ClassificationConfig = ClassificationConfig(),  # noqa: B008
) -> ImageClassificationRun:
    """460 updates a pass; a fiftieth of the images is held out, of the test nothing is seen."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="mnist", validation=0.02),
        augment=augment,
        model=model,
        objective=objective,
        optimizer=optimizer,
        schedule=_cosine(rate, 1000),
        batches=ImageBatchConfig(size=128, workers=1),
        trainer=_trainer(epochs, 920, log_every=230),
    )


def _cifar(
    model: VisionConfig,
    optimizer: OptimizerConfig,
    schedule: ScheduleConfig,
    epochs: float,
    mixup: float = 0.0,
    clip_norm: float | None = None,
) -> ImageClassificationRun:
    """A quarter of CIFAR-10's training images, 94 updates a pass; a twenty-fifth is held out."""
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="cifar10-jpeg", validation=0.04),
        augment=AugmentConfig(padding=4, flip=True, cutout=8, mixup=mixup),
        model=model,
        objective=_SMOOTHED,
        optimizer=optimizer,
        schedule=schedule,
        batches=ImageBatchConfig(size=128, workers=1),
        trainer=_trainer(epochs, 470, log_every=94, clip_norm=clip_norm),
    )


def _photographs(
    data: ImageDataConfig,
    model: VisionConfig,
    optimizer: OptimizerConfig,
    rate: float,
    epochs: float,
    clip_norm: float | None = None,
    warmup_steps: int = 500,
) -> ImageClassificationRun:
    """Of flowers 44 updates a pass."""
    return ImageClassificationRun(
        data=data,
        augment=_PHOTOGRAPHS,
        model=model,
        objective=_SMOOTHED,
        optimizer=optimizer,
        schedule=_cosine(rate, warmup_steps),
        batches=ImageBatchConfig(size=64, workers=1),
        trainer=_trainer(epochs, 440, log_every=44, clip_norm=clip_norm),
    )


_FLOWERS = ImageDataConfig(corpus="flowers-96", validation=0.05)


@recipe(
    "lenet5-digits",
    system="lenet",
    summary="8x8 digits that come with Landmark",
    minutes=0.3,
    reaches="all 360 held-out images right",
)
def lenet5_digits() -> ImageClassificationRun:
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="digits", size=28),
        augment=_HANDWRITING,
        model=LeNetConfig(),
        optimizer=_adam(),
        schedule=_cosine(3e-3, 100),
        batches=ImageBatchConfig(size=32),
        trainer=_trainer(30, 200),
    )


@recipe(
    "lenet5-mnist",
    system="lenet",
    summary="the LeNet-5 of 1998 on MNIST",
    minutes=7.1,
    reaches="error 0.93 %",
)
def lenet5_mnist() -> ImageClassificationRun:
    return _mnist(LeNet1998Config(image_size=28, padding=2), _adam(), 2e-3, epochs=30)


@recipe(
    "best-mnist",
    system="resnet",
    summary="best result on MNIST: a small ResNet-9",
    minutes=37.5,
    reaches="error 0.28 %",
)
def best_mnist() -> ImageClassificationRun:
    return _mnist(
        ResNet9Config(channels=1, image_size=28, width=16, blocks=(1, 1, 1)),
        _descent(),
        0.1,
        epochs=18,
        augment=AugmentConfig(rotation=12.0, zoom=0.12, shear=8.0, shift=2.0, elastic=0.5),
        objective=_SMOOTHED,
    )


@recipe(
    "resnet-cifar",
    system="resnet",
    summary="a small ResNet-9 on a quarter of CIFAR-10",
    minutes=62.0,
    reaches="accuracy 83.19 %",
)
def resnet_cifar() -> ImageClassificationRun:
    return _cifar(
        ResNet9Config(width=32, blocks=(1, 1, 1)), _descent(), _cosine(0.2, 700), epochs=35
    )


@recipe(
    "resnet20-cifar",
    system="resnet",
    summary="the paper's ResNet-20 on a quarter of CIFAR-10",
    minutes=36.4,
    reaches="accuracy 78.08 %",
)
def resnet20_cifar() -> ImageClassificationRun:
    shape = ResNetConfig(
        classes=10,
        image_size=32,
        blocks=(3, 3, 3),
        width=16,
        bottleneck=False,
        stem="cifar",
        shortcut="A",
    )
    return _cifar(shape, _descent(1e-4), _divided(0.1), epochs=40)


@recipe(
    "nin-cifar",
    system="nin",
    summary="Network in Network on a quarter of CIFAR-10",
    minutes=16.2,
    reaches="accuracy 49.08 %",
)
def nin_cifar() -> ImageClassificationRun:
    return _cifar(NINConfig(classes=10), _adam(5e-4), _divided(1e-3), epochs=8, clip_norm=5.0)


@recipe(
    "vgg-cifar",
    system="vgg",
    summary="a narrow VGG-11 with batch norm on a quarter of CIFAR-10",
    minutes=11.9,
    reaches="accuracy 73.53 %",
)
def vgg_cifar() -> ImageClassificationRun:
    shape = VGGConfig(
        classes=10, image_size=32, layout="a", width=32, dense_width=256, batch_norm=True
    )
    return _cifar(shape, _descent(), _divided(0.05), epochs=30)


@recipe(
    "highway-cifar",
    system="highway",
    summary="19 highway layers on a quarter of CIFAR-10",
    minutes=40.2,
    reaches="accuracy 62.31 %",
)
def highway_cifar() -> ImageClassificationRun:
    shape = HighwayConfig(depths=(6, 6, 6), widths=(16, 32, 64))
    return _cifar(shape, _descent(), _divided(0.05), epochs=24, clip_norm=5.0)


@recipe(
    "vit-cifar",
    system="vit",
    summary="a small ViT on a quarter of CIFAR-10",
    minutes=76.2,
    reaches="accuracy 60.21 %",
)
def vit_cifar() -> ImageClassificationRun:
    shape = ViTConfig(
        classes=10,
        image_size=32,
        patch_size=4,
        hidden_size=128,
        num_heads=4,
        num_layers=6,
        pool="mean",
    )
    return _cifar(shape, _adam(0.05), _cosine(1e-3, 700), epochs=40, mixup=0.2, clip_norm=1.0)


@recipe("vit-digits", system="vit", summary="a tiny ViT on the embedded 8x8 digits: a minute")
def vit_digits() -> ImageClassificationRun:
    return ImageClassificationRun(
        data=ImageDataConfig(corpus="digits"),
        augment=AugmentConfig(rotation=10.0, zoom=0.1, shift=1.0),
        model=ViTConfig(
            classes=10,
            channels=1,
            image_size=8,
            patch_size=2,
            hidden_size=64,
            num_heads=4,
            num_layers=4,
            pool="mean",
        ),
        optimizer=_adam(0.05),
        schedule=_cosine(2e-3, 300),
        batches=ImageBatchConfig(size=64),
        trainer=_trainer(60, 200, clip_norm=1.0),
    )


def _small_photograph(classes: int) -> ResNet9Config:
    return ResNet9Config(
        classes=classes, image_size=96, width=40, blocks=(1, 1, 1), stem="imagenet"
    )


@recipe(
    "resnet-flowers",
    system="resnet",
    summary="a small ResNet-9 on five classes of flowers, from scratch",
    minutes=31.5,
    reaches="accuracy 86.55 %",
)
def resnet_flowers() -> ImageClassificationRun:
    return _photographs(_FLOWERS, _small_photograph(5), _descent(1e-3), 0.1, epochs=80)


@recipe(
    "alexnet-flowers",
    system="alexnet",
    summary="a narrow AlexNet on five classes of flowers",
    minutes=33.1,
    reaches="accuracy 65.08 %",
)
def alexnet_flowers() -> ImageClassificationRun:
    shape = AlexNetConfig(
        classes=5,
        image_size=96,
        widths=(48, 128, 192, 192, 128),
        dense_width=1024,
        first_kernel=7,
        first_stride=2,
    )
    return _photographs(
        _FLOWERS, shape, _adam(0.01), 5e-4, epochs=30, clip_norm=5.0, warmup_steps=200
    )


@recipe(
    "googlenet-flowers",
    system="googlenet",
    summary="GoogLeNet on five classes of flowers",
    minutes=27.1,
    reaches="accuracy 82.88 %",
)
def googlenet_flowers() -> ImageClassificationRun:
    shape = GoogLeNetConfig(classes=5, image_size=96, batch_norm=True, dropout=0.2)
    return _photographs(_FLOWERS, shape, _descent(1e-3), 0.05, epochs=24, warmup_steps=200)


@recipe(
    "inception-flowers",
    system="inception",
    summary="Inception-BN on five classes of flowers",
    minutes=20.1,
    reaches="accuracy 74.59 %",
)
def inception_flowers() -> ImageClassificationRun:
    shape = InceptionBNConfig(classes=5, image_size=96, dropout=0.2)
    return _photographs(_FLOWERS, shape, _descent(1e-3), 0.05, epochs=24, warmup_steps=200)


@recipe("image-files", system="resnet", summary="your own folders of images: --data FOLDER")
def image_files() -> ImageClassificationRun:
    data = ImageDataConfig(corpus="files")  # scaled to what the network reads
    return _photographs(data, _small_photograph(2), _descent(1e-3), 0.1, epochs=60)
