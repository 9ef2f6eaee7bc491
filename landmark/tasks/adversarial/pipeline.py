"""A loaded GAN on points: samples, the discriminator's opinion, and how near the data they are."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.data.noise import draw_noise
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.understanding import RESAMPLES, IntervalScore, score_deviation, score_mean
from landmark.tasks.adversarial.comparison import PointComparison, compare_points
from landmark.tasks.adversarial.run import AdversarialRun, build_players
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.training import check_assets

Points = NDArray[np.float64]


@dataclass(frozen=True)
class SampleComparison:
    """Samples beside the distribution that they imitate."""

    samples: int
    data_mean: float
    data_std: float
    scores: tuple[IntervalScore, ...]
    """mean and std of the samples; how far from 1/2 the discriminator is, on samples and on data"""
    points: PointComparison
    divergence_bound: float
    """What the discriminator shows of it: log 2 less half its loss, at most the divergence."""


def open_pipeline(
    run: Run, config: AdversarialRun, options: OpenOptions, report: Report
) -> "AdversarialPipeline":
    """A GAN, ready to draw from."""
    check_assets(run)
    return AdversarialPipeline(run, config, options.checkpoint, options.device)


class AdversarialPipeline:
    """A run's generator and discriminator."""

    def __init__(
        self, run: Run, config: AdversarialRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.density = config.data.density()
        self.generator, self.discriminator = build_players(config)
        for name in ("generator", "discriminator"):
            player = getattr(self, name).eval()
            load_module(player, load_player(self.checkpoint, name), self.checkpoint)
            player.to(self.device)

    def sample(self, count: int = 16, seed: int = 1) -> Points:
        """Points that the generator makes; the same seed draws the same. (N, D)"""
        if count < 1:
            raise UserError(f"{count} samples cannot be drawn: the minimum is 1")
        return self.generate(draw_noise(self.config.data, count, seed).numpy())

    @torch.inference_mode()
    def generate(self, noise: NDArray[np.float32]) -> Points:
        """What the generator makes of noise. (N, Z) -> (N, D)"""
        size = self.config.data.noise_size
        given = torch.as_tensor(noise, dtype=torch.float32, device=self.device)
        if given.dim() != 2 or given.shape[1] != size:
            raise UserError(f"noise has the shape (N, {size}), not {tuple(given.shape)}")
        return self._finite(self.generator(given))

    @torch.inference_mode()
    def judge(self, points: Points) -> Points:
        """The discriminator's logit of each point's being real; of each pack of points. (N,)"""
        given = torch.as_tensor(points, dtype=torch.float32, device=self.device)
        pack, width = self.config.objective.pack, self.density.dimensions
        if given.dim() != 2 or given.shape[1] != width:
            raise UserError(f"points have the shape (N, {width}), not {tuple(given.shape)}")
        packs = given[: len(given) // pack * pack].reshape(-1, pack * width)
        return self._finite(self.discriminator(packs)[:, 0])

    def compare(self, made: Points) -> PointComparison:
        """How near generated points are to the data's density."""
        return compare_points(made, self.density, self.generator, self.config.data.prior)

    def _finite(self, found: torch.Tensor) -> Points:
        if not found.isfinite().all():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        points: Points = found.double().cpu().numpy()
        return points

    def evaluate(
        self, count: int = 10_000, seed: int = 1, resamples: int = RESAMPLES
    ) -> SampleComparison:
        """Compare so many samples with the distribution that the run was trained on."""
        made = self.sample(count, seed)
        real = self.density.sample(count, np.random.default_rng(derive_seed(seed, "data")))
        on_made, on_real = self.judge(made), self.judge(real)
        scores = [
            score_mean("distance_from_half", _distance(on_made), resamples),
            score_mean("distance_from_half_on_data", _distance(on_real), resamples),
        ]
        if self.density.dimensions == 1:
            line = made[:, 0]
            moments = score_mean("mean", line, resamples), score_deviation("std", line, resamples)
            scores = [*moments, *scores]
        # -log D(x) - log(1 - D(G(z))) is at least 2 log 2 - 2 JS: Goodfellow et al. 2014, theorem 1
        loss = np.logaddexp(0, -on_real).mean() + np.logaddexp(0, on_made).mean()
        means, std = self.density.means, self.density.std
        return SampleComparison(
            count,
            float(means.mean()),
            float(np.sqrt(means.var() + std**2)),
            tuple(scores),
            self.compare(made),
            float(np.log(2) - loss / 2),
        )


def _distance(logits: Points) -> Points:
    found: Points = np.abs(1 / (1 + np.exp(-np.clip(logits, -500, 500))) - 0.5)
    return found
