"""The smallest generative adversarial network: two players on a Gaussian."""

from landmark.engine.settings import TrainerConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.adversarial.run import AdversarialRun
from landmark.tasks.catalog import System, add_system, recipe

add_system(
    System(
        "gan",
        "Goodfellow et al., Generative Adversarial Nets, arXiv 1406.2661",
        2014,
        "generation",
        what="generator and discriminator trained against each other",
    )
)


@recipe(
    "gan-gaussian", system="gan", summary="the smallest GAN, on a one-dimensional Gaussian: seconds"
)
def gan_gaussian() -> AdversarialRun:
    return AdversarialRun(
        optimizer=OptimizerConfig(betas=(0.5, 0.999), epsilon=1e-8),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=0),
        trainer=TrainerConfig(
            max_steps=2000,
            log_every=100,
            validate_every=200,
            checkpoint_every=1000,
            monitor="distance_from_half",
            ema_decay=0.99,
        ),
    )
