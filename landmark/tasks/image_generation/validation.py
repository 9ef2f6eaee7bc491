"""What a validation finds in samples: their distance from real images, and signs of failure."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from landmark.core.storage import make_folder
from landmark.data.images.decoding import Pixels
from landmark.data.images.form import ImageForm
from landmark.data.images.montage import square_rows, write_rows
from landmark.data.images.store import Images
from landmark.data.noise import draw_noise
from landmark.engine import distributed
from landmark.engine.assembly import Stopping
from landmark.engine.state import TrainingState
from landmark.metrics.frechet import frechet_distance, kernel_distance
from landmark.metrics.manifold import compare_manifolds
from landmark.tasks.image_generation.judge import (
    MOST,
    Judge,
    check_count,
    open_judge,
    standardised,
    variety,
)

if TYPE_CHECKING:
    from landmark.tasks.image_generation.run import ImageGenerationRun

SAMPLES = "samples"
"""The folder of a run with a picture of the same noise at every validation."""
SHOWN = 64
_TOGETHER = 250
_FEW = 500
"""Validation images: with fewer, samples are compared with training images, too."""
_POOR = 0.5
"""Share of the real images' variety, and of the best so far, below which samples are too alike."""
_WON, _LOST = 0.02, 4.0
"""Mean losses of a discriminator that has won, and of the generator that plays against it."""
_FAR = 3.0
"""Times the best distance so far, above which a training has come apart."""


class SampleEvaluator:
    """Compares samples of the same noise with real images, at every validation."""

    def __init__(
        self,
        config: "ImageGenerationRun",
        folder: Path,
        generator: nn.Module,
        form: ImageForm,
        images: Mapping[str, Images],
        device: torch.device,
    ) -> None:
        self.config, self.folder, self.generator, self.form = config, folder, generator, form
        self.images, self.device = images, device

        self.noise = draw_noise(config.noise, config.judge.samples, config.seed + 1)

    @cached_property
    def judge(self) -> Judge:
        return open_judge(self.config.judge.run, self.form.channels, self.device.type)

    @cached_property
    def real(self) -> Tensor:
        """Features of real images: held out, and of training where those are few. (N, F)"""
        held_out, count = self.images["valid"], self.config.judge.samples
        chosen = [held_out[index] for index in range(min(count, len(held_out)))]
        if len(chosen) < _FEW:
            train = self.images["train"]
            rest = np.linspace(0, len(train) - 1, min(count - len(chosen), len(train)))
            chosen += [train[index] for index in rest.astype(np.int64).tolist()]
        check_count(len(chosen), str(self.folder))
        return self.judge(chosen)

    def __call__(self, step: int, stopping: Stopping) -> Mapping[str, float] | None:
        """Distances from real images; a grid of the first samples goes into the run folder."""
        made: list[Pixels] = []
        for noise in self.noise.split(_TOGETHER):
            if stopping():
                return None
            made += generate(self.generator, self.form, noise.to(self.device))
        if distributed.is_main():
            folder = self.folder / SAMPLES
            make_folder(folder)
            write_rows(folder / picture_name(step), square_rows(made[:SHOWN]), magnified=0)
        real, features = standardised(self.real, self.judge(made))
        if stopping():
            return None
        manifolds = compare_manifolds(real[:MOST], features[:MOST])
        return {
            "kid": kernel_distance(real, features),
            "fid": frechet_distance(real, features),
            "precision": manifolds.precision,
            "coverage": manifolds.coverage,
            "variety": variety(real, features),
        }


def picture_name(step: int) -> str:
    """The file of a validation's samples."""
    return f"step-{step:06d}.png"


@torch.inference_mode()
def generate(generator: nn.Module, form: ImageForm, noise: Tensor) -> list[Pixels]:
    """What a generator makes of noise. (N, Z) -> N of (H, W, C)"""
    found = form.restore(generator(noise).float().cpu())
    return list((found * 255).round().byte().permute(0, 2, 3, 1).numpy())


def diagnose(state: TrainingState, metrics: Mapping[str, float]) -> str | None:
    """Mode collapse, a discriminator that has won, or distances that grow."""
    (_, most), (least, _) = state.extremes["variety"], state.extremes["fid"]
    if metrics["variety"] < _POOR * min(1.0, most):
        return (
            f"samples grow alike (mode collapse): their variety is {metrics['variety']:.2f} of "
            f"that of real images, and was {most:.2f}: try objective.pack=2, objective.r1=1 or a "
            "lower schedule.rate"
        )
    losses = {player: usual.mean for player, usual in state.usual.items()}
    if losses.get("discriminator", 1.0) < _WON and losses.get("generator", 0.0) > _LOST:
        return (
            f"the discriminator has won (loss {losses['discriminator']:.3f} against "
            f"{losses['generator']:.1f}), the generator learns no more: try objective.r1=1, "
            "objective.label_smoothing=0.1, model.discriminator_norm=spectral or "
            "objective.augment=[color,translation,cutout] for few pictures"
        )
    if metrics["fid"] > _FAR * least:
        return (
            f"samples have become worse: FID {metrics['fid']:.1f}, at best {least:.1f}: try a "
            "lower schedule.rate or objective.r1=1"
        )
    return None
