"""A loaded GAN on points: samples, the discriminator's opinion, and how near the data they are."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.divergence import histogram_divergence, histogram_floor
from landmark.metrics.understanding import RESAMPLES, IntervalScore, score_deviation, score_mean
from landmark.tasks.adversarial.run import AdversarialRun, build_players
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.training import check_assets

Points = NDArray[np.float64]
BINS = 50
"""Of a histogram, each of which the data falls into equally often."""


@dataclass(frozen=True)
class SampleComparison:
    """Samples beside the distribution that they imitate."""

    samples: int
    data_mean: float
    data_std: float
    scores: tuple[IntervalScore, ...]
    """mean and std of the samples; how far from 1/2 the discriminator is, on samples and on data"""
    divergence: float
    """Jensen-Shannon divergence between histogram and density, in nats."""
    divergence_floor: float
    """What that is on average for as many samples of the data itself."""
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
        self.generator, self.discriminator = build_players(config)
        for name in ("generator", "discriminator"):
            player = getattr(self, name).eval()
            load_module(player, load_player(self.checkpoint, name), self.checkpoint)
            player.to(self.device)

    @torch.inference_mode()
    def sample(self, count: int = 16, seed: int = 1) -> Points:
        """Points that the generator makes; the same seed draws the same. (N,)"""
        if count < 1:
            raise UserError(f"{count} samples cannot be drawn: the minimum is 1")
        random = np.random.default_rng(derive_seed(seed, "sample"))
        noise = random.standard_normal((count, self.config.data.noise_size), np.float32)
        made = self.generator(torch.from_numpy(noise).to(self.device))[:, 0]
        return self._finite(made)

    @torch.inference_mode()
    def judge(self, points: Points) -> Points:
        """The discriminator's score of each point: the logit of its being real. (N,)"""
        given = torch.as_tensor(points, dtype=torch.float32, device=self.device)
        if given.dim() != 1:
            raise UserError(f"points have the shape (N,), not {tuple(given.shape)}")
        return self._finite(self.discriminator(given[:, None])[:, 0])

    def _finite(self, found: torch.Tensor) -> Points:
        if not found.isfinite().all():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        points: Points = found.double().cpu().numpy()
        return points

    def evaluate(
        self, count: int = 10_000, seed: int = 1, resamples: int = RESAMPLES
    ) -> SampleComparison:
        """Compare so many samples with the distribution that the run was trained on."""
        data = self.config.data
        made = self.sample(count, seed)
        random = np.random.default_rng(derive_seed(seed, "data"))
        real = random.normal(data.mean, data.deviation, count)
        on_made, on_real = self.judge(made), self.judge(real)
        scores = (
            score_mean("mean", made, resamples),
            score_deviation("std", made, resamples),
            score_mean("distance_from_half", _distance(on_made), resamples),
            score_mean("distance_from_half_on_data", _distance(on_real), resamples),
        )
        # -log D(x) - log(1 - D(G(z))) is at least 2 log 2 - 2 JS: Goodfellow et al. 2014, theorem 1
        loss = np.logaddexp(0, -on_real).mean() + np.logaddexp(0, on_made).mean()
        density = NormalDist(data.mean, data.deviation)
        edges = [density.inv_cdf(share / BINS) for share in range(1, BINS)]
        return SampleComparison(
            count,
            data.mean,
            data.deviation,
            scores,
            histogram_divergence(made, edges),
            histogram_floor(count, BINS),
            float(np.log(2) - loss / 2),
        )


def _distance(logits: Points) -> Points:
    found: Points = np.abs(1 / (1 + np.exp(-np.clip(logits, -500, 500))) - 0.5)
    return found
