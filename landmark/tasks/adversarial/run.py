"""The smallest two-player training: a GAN learns a Gaussian on the line, by the same engine."""

import dataclasses
from pathlib import Path
from typing import Literal

import torch

from landmark.core.configuration import fingerprint, settings
from landmark.data.loader import Loader
from landmark.data.points import GaussianConfig, GaussianSamples
from landmark.engine import distributed
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Report
from landmark.models.adversarial.gan import GanConfig, Perceptron
from landmark.objectives.adversarial import AdversarialObjective
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.catalog import System, add_system, recipe
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class GaussianRun(RunConfig):
    """A complete adversarial training on points."""

    task: Literal["gaussian"] = "gaussian"
    data: GaussianConfig = dataclasses.field(default_factory=GaussianConfig)
    model: GanConfig = dataclasses.field(default_factory=GanConfig)


def prepare(
    config: GaussianRun, folder: Path, report: Report, origin: Origin | None = None
) -> GaussianRun:
    """Points are drawn as they are needed: nothing to prepare."""
    return config


def assemble(config: GaussianRun, folder: Path, device: torch.device) -> Assembly:
    torch.manual_seed(config.seed)
    hidden, noise = config.model.hidden_size, config.data.noise_size
    generator = Perceptron(noise, hidden, 1).to(device)
    discriminator = Perceptron(1, hidden, 1).to(device)

    def loader(seed: int, batches: int, accumulate: int) -> Loader:
        data = dataclasses.replace(config.data, batches=batches)
        return Loader(
            GaussianSamples(data, seed),
            accumulate=accumulate,
            rank=distributed.rank(),
            world_size=distributed.world_size(),
        )

    objective = AdversarialObjective(generator, discriminator)
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective),
        source=loader(config.seed, config.data.batches, config.trainer.accumulate),
        validation=loader(config.seed + 1, 8, 1),
    )


TASK = Task(
    "gaussian",
    GaussianRun,
    lambda config: fingerprint(dataclasses.asdict(config.data)),
    prepare,
    assemble,
)
add_system(
    System(
        "gan", "Goodfellow et al., Generative Adversarial Nets, arXiv 1406.2661", 2014, "generation"
    )
)


@recipe(
    "gan-gaussian", system="gan", summary="two players on a Gaussian: the smallest GAN, seconds"
)
def gan_gaussian() -> GaussianRun:
    return GaussianRun(
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
