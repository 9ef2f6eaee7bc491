"""GANs of images: the networks of 2014, and DCGAN on public sets and on one's own pictures."""

from landmark.data.images.adversarial import AdversarialImageBatchConfig
from landmark.data.noise import NoiseConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.adversarial.dcgan import DcganConfig
from landmark.models.adversarial.maxout import MaxoutGanConfig
from landmark.objectives.adversarial import AdversarialConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.image_generation.run import ImageGenerationRun, PictureDataConfig


def _adam() -> OptimizerConfig:
    return OptimizerConfig(betas=(0.5, 0.999), epsilon=1e-8)


def _constant(rate: float) -> ScheduleConfig:
    return ScheduleConfig(name="constant", rate=rate, warmup_steps=0)


def _trainer(max_steps: int, validate_every: int, monitor: str = "fid") -> TrainerConfig:
    """By FID where there are thousands of images, by KID where there are few."""
    return TrainerConfig(
        max_steps=max_steps,
        log_every=50,
        validate_every=validate_every,
        checkpoint_every=validate_every,
        keep_last=2,
        monitor=monitor,
        ema_decay=0.999,
        ema_players=("generator",),
    )


@recipe("gan-mnist-2014", system="gan", summary="the networks of 2014 on handwritten digits")
def gan_mnist_2014() -> ImageGenerationRun:
    """The paper's momentum grows from 0.5 to 0.7 over 250 passes; here over the 11 there are."""
    return ImageGenerationRun(
        data=PictureDataConfig(corpus="mnist"),
        noise=NoiseConfig(noise_size=100, prior="uniform"),
        model=MaxoutGanConfig(),
        optimizer=OptimizerConfig(
            name="sgd", momentum=0.5, final_momentum=0.7, momentum_steps=6000
        ),
        schedule=_constant(0.1),
        batches=AdversarialImageBatchConfig(size=100),
        trainer=_trainer(6000, 1000),
    )


@recipe("dcgan-mnist", system="dcgan", summary="a DCGAN of handwritten digits")
def dcgan_mnist() -> ImageGenerationRun:
    return ImageGenerationRun(
        data=PictureDataConfig(corpus="mnist"),
        model=DcganConfig(image_size=28, channels=1, width=64),
        optimizer=_adam(),
        schedule=_constant(2e-4),
        schedules={"generator": {"rate": 1e-3}},
        trainer=_trainer(6000, 500),
    )


@recipe("dcgan-cifar", system="dcgan", summary="a DCGAN of a quarter of CIFAR-10")
def dcgan_cifar() -> ImageGenerationRun:
    return ImageGenerationRun(
        data=PictureDataConfig(corpus="cifar10-jpeg"),
        model=DcganConfig(image_size=32, width=64),
        batches=AdversarialImageBatchConfig(flip=True),
        optimizer=_adam(),
        schedule=_constant(2e-4),
        trainer=_trainer(4000, 500),
    )


_FEW_PICTURES = AdversarialConfig(augment=("color", "translation", "cutout"))


@recipe(
    "dcgan-faces",
    system="dcgan",
    summary="a DCGAN of 400 faces, with differentiable augmentation",
)
def dcgan_faces() -> ImageGenerationRun:
    return ImageGenerationRun(
        data=PictureDataConfig(corpus="orl-faces", channels=1, validation=0.2),
        model=DcganConfig(channels=1),
        objective=_FEW_PICTURES,
        batches=AdversarialImageBatchConfig(flip=True),
        optimizer=_adam(),
        schedule=_constant(2e-4),
        trainer=_trainer(2500, 250, "kid"),
    )


@recipe("dcgan", system="dcgan", summary="a DCGAN of your own pictures: --data FOLDER")
def dcgan() -> ImageGenerationRun:
    return ImageGenerationRun(
        data=PictureDataConfig(corpus="files"),
        objective=_FEW_PICTURES,
        optimizer=_adam(),
        schedule=_constant(2e-4),
        trainer=_trainer(6000, 250, "kid"),
    )
