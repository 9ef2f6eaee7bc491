"""Two players on points whose density is known, trained by the same engine as all others."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from landmark.core.configuration import default_key, fingerprint, settings
from landmark.data.loader import Loader
from landmark.data.noise import draw_noise
from landmark.data.points import AnyPointsConfig, GaussianConfig, PointSamples
from landmark.engine import distributed
from landmark.engine.assembly import Evaluator, Stopping
from landmark.engine.trainer import Report
from landmark.models.adversarial.perceptron import (
    LinearGenerator,
    LinearGeneratorConfig,
    Perceptron,
    PerceptronGanConfig,
)
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective
from landmark.tasks.adversarial.comparison import compare_points
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task

VALIDATION_BATCHES = 8
VALIDATION_SAMPLES = 2500
"""Generated points that a validation judges, as many as PacGAN's experiments."""


@settings
class AdversarialRun(RunConfig):
    """A complete training of a GAN."""

    task: Literal["adversarial"] = "adversarial"
    data: Annotated[
        AnyPointsConfig,
        Field(discriminator="distribution"),
        default_key("distribution", "gaussian"),
    ] = dataclasses.field(default_factory=GaussianConfig)
    model: Annotated[
        PerceptronGanConfig | LinearGeneratorConfig,
        Field(discriminator="architecture"),
        default_key("architecture", "perceptron"),
    ] = dataclasses.field(default_factory=PerceptronGanConfig)
    objective: AdversarialConfig = dataclasses.field(default_factory=AdversarialConfig)

    @model_validator(mode="after")
    def _fits_together(self) -> "AdversarialRun":
        if isinstance(self.model, LinearGeneratorConfig) and (
            self.data.noise_size != 1 or self.data.density().dimensions != 1
        ):
            raise ValueError(
                "model.architecture=linear-generator: needs data on a line and data.noise_size=1"
            )
        if self.data.batch_size % self.objective.pack:
            raise ValueError(
                f"data.batch_size: must be divisible by objective.pack, {self.objective.pack}"
            )
        if self.objective.augment:
            raise ValueError(
                "objective.augment: changes images, and these are points: leave it out"
            )
        if self.objective.unrolled_steps and self.trainer.accumulate > 1:
            raise ValueError("objective.unrolled_steps: leave out trainer.accumulate")
        return self


def prepare(
    config: AdversarialRun, folder: Path, report: Report, origin: Origin | None = None
) -> AdversarialRun:
    """Points are drawn as they are needed: nothing to prepare."""
    return config


def build_players(config: AdversarialRun) -> tuple[nn.Module, nn.Module]:
    """The generator and the discriminator of a configuration."""
    model, outputs = config.model, config.data.density().dimensions
    inputs = outputs * config.objective.pack
    if isinstance(model, LinearGeneratorConfig):
        discriminator = Perceptron(inputs, model.hidden_size, 1, model.num_layers)
        return LinearGenerator(model.mean, model.std), discriminator
    shape = (model.hidden_size, outputs, model.num_layers, model.generator_norm)
    generator = Perceptron(config.data.noise_size, *shape)
    discriminator = Perceptron(
        inputs, model.hidden_size, 1, model.num_layers, batch_std=model.batch_std
    )
    return generator, discriminator


def assemble(config: AdversarialRun, folder: Path, device: torch.device) -> Assembly:
    """Both players, objective, optimisers and loaders."""
    torch.manual_seed(config.seed)
    generator, discriminator = (player.to(device) for player in build_players(config))

    def loader(seed: int, batches: int, accumulate: int, steps: int) -> Loader:
        data = dataclasses.replace(config.data, batches=batches)
        return Loader(
            PointSamples(data, seed, steps),
            accumulate=accumulate,
            rank=distributed.rank(),
            world_size=distributed.world_size(),
        )

    objective = AdversarialObjective(generator, discriminator, config.objective)
    steps = config.objective.discriminator_steps
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective),
        source=loader(config.seed, config.data.batches, config.trainer.accumulate, steps),
        validation=loader(config.seed + 1, VALIDATION_BATCHES, 1, 1),
        evaluator=point_evaluator(config, generator, device),
    )


def point_evaluator(
    config: AdversarialRun, generator: nn.Module, device: torch.device
) -> Evaluator:
    """What a validation says of generated points, of the same noise each time."""
    density = config.data.density()
    noise = draw_noise(config.data, VALIDATION_SAMPLES, config.seed + 1)

    @torch.inference_mode()
    def evaluate(step: int, stopping: Stopping) -> Mapping[str, float]:
        made = generator(noise.to(device)).double().cpu().numpy()
        found = compare_points(made, density, generator, config.data.prior).metrics()
        return {"made_mean": float(made.mean()), "made_std": float(made.std()), **found}

    return evaluate


TASK = Task(
    "adversarial",
    AdversarialRun,
    lambda config: fingerprint(dataclasses.asdict(config.data)),
    prepare,
    assemble,
)
