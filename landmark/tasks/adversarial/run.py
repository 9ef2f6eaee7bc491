"""The smallest two-player training: a GAN learns a Gaussian on the line, by the same engine."""

import dataclasses
from pathlib import Path
from typing import Literal

import torch

from landmark.core.configuration import fingerprint, settings
from landmark.data.loader import Loader
from landmark.data.points import GaussianConfig, GaussianSamples
from landmark.engine import distributed
from landmark.engine.trainer import Report
from landmark.models.adversarial.gan import GanConfig, Perceptron
from landmark.objectives.adversarial import AdversarialObjective
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class AdversarialRun(RunConfig):
    """A complete training of a GAN."""

    task: Literal["adversarial"] = "adversarial"
    data: GaussianConfig = dataclasses.field(default_factory=GaussianConfig)
    model: GanConfig = dataclasses.field(default_factory=GanConfig)


def prepare(
    config: AdversarialRun, folder: Path, report: Report, origin: Origin | None = None
) -> AdversarialRun:
    """Points are drawn as they are needed: nothing to prepare."""
    return config


def build_players(config: AdversarialRun) -> tuple[Perceptron, Perceptron]:
    """The generator and the discriminator of a configuration."""
    hidden, noise = config.model.hidden_size, config.data.noise_size
    return Perceptron(noise, hidden, 1), Perceptron(1, hidden, 1)


def assemble(config: AdversarialRun, folder: Path, device: torch.device) -> Assembly:
    """Both players, objective, optimisers and loaders."""
    torch.manual_seed(config.seed)
    generator, discriminator = (player.to(device) for player in build_players(config))

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
    "adversarial",
    AdversarialRun,
    lambda config: fingerprint(dataclasses.asdict(config.data)),
    prepare,
    assemble,
)
