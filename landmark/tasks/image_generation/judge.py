"""What samples are judged by: features of a classifier, of random weights, or of a user's network.

Every figure stands between two others that give it meaning: real images against other real images
(the floor), and noise against real images.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.images.decoding import Pixels
from landmark.data.images.form import as_tensor
from landmark.metrics.frechet import set_distances
from landmark.metrics.manifold import compare_manifolds, smallest_set
from landmark.models.random_features import RandomFeatures
from landmark.tasks.loading import load

Count = Callable[[int], None]
_TOGETHER = 256
_LEAST_SPREAD = 0.1
"""Of the typical feature's standard deviation, by which a feature is divided at least."""
MOST = 5000
"""Images of a set whose neighbours are compared: memory grows with the square."""


@settings
class JudgeConfig:
    """What validation measures samples by."""

    run: str | None = None
    """A run of an image classifier, whose features are compared; null: a network with random
    weights.
    """
    samples: Annotated[int, Field(ge=16, le=limits.SAMPLES)] = 2000
    """Images that each validation makes and compares."""


class Judge(Protocol):
    """Features of images, to compare sets by."""

    name: str

    def __call__(self, images: Sequence[Pixels]) -> Tensor:
        """(N, F)"""


class NetworkJudge:
    """A network of torch's that takes images (B, C, H, W) between -1 and 1."""

    def __init__(self, network: nn.Module, name: str, device: torch.device) -> None:
        self.network, self.name, self.device = network.eval().to(device), name, device

    @torch.inference_mode()
    def __call__(self, images: Sequence[Pixels]) -> Tensor:
        found = []
        for start in range(0, len(images), _TOGETHER):
            block = as_tensor(np.stack(images[start : start + _TOGETHER])).to(self.device)
            features = self.network(block.float() / 127.5 - 1)
            if features.dim() != 2 or len(features) != len(block):
                raise UserError(
                    f"{self.name}: gives features of shape {tuple(features.shape)} for "
                    f"{len(block)} images, not ({len(block)}, F)"
                )
            found.append(features.float().cpu())
        return torch.cat(found)


class ClassifierJudge:
    """A run of an image classifier."""

    def __init__(self, run: Path, channels: int, device: str) -> None:
        pipeline = load(run, device=device)
        if not hasattr(pipeline, "classify"):
            raise UserError(f"{run}: is no image classifier: judge.run takes the run of one")
        theirs = pipeline.form.channels
        if theirs != channels:
            kinds = {1: "grey", 3: "colour"}
            raise UserError(
                f"{run}: is a classifier of {kinds[theirs]} images, and these are "
                f"{kinds[channels]}: judge by another run"
            )
        self.pipeline, self.name = pipeline, str(run)

    def __call__(self, images: Sequence[Pixels]) -> Tensor:
        return torch.from_numpy(np.asarray(self.pipeline.features(list(images)), np.float32))

    def classes(self, images: Sequence[Pixels]) -> list[str]:
        """What the classifier takes each image for."""
        return [found.guesses[0].name for found in self.pipeline.classify(list(images), top=1)]


def open_judge(run: str | None, channels: int, device: str) -> Judge:
    """The classifier of a run, or the network with random weights."""
    if run is None:
        return NetworkJudge(RandomFeatures(channels), "random features", torch.device("cpu"))
    return ClassifierJudge(Path(run), channels, device)


@dataclass(frozen=True)
class SetScores:
    """A set of images beside real ones."""

    images: int
    fid: float
    kid: float
    mifid: float
    precision: float
    recall: float
    density: float
    coverage: float
    variety: float
    """How far its features are spread, over how far those of real images are."""


def standardised(real: Tensor, *sets: Tensor) -> tuple[Tensor, ...]:
    """Each feature with mean 0 and standard deviation 1 over the real images.

    Else a few large features, as those of mere brightness in a random network, would decide all:
    FID grows with the square of features, and KID's kernel with their sixth power. What hardly
    varies in real images is not blown up.
    """
    spread, mean = real.double().std(0), real.double().mean(0)
    least = _LEAST_SPREAD * spread.square().mean().sqrt()
    spread = spread.clamp_min(max(float(least), torch.finfo(torch.float32).tiny))
    return tuple((features.double() - mean) / spread for features in (real, *sets))


def compare_features(real: Tensor, made: Tensor) -> SetScores:
    """(N, F), (M, F)"""
    real, made = standardised(real, made)
    distances = set_distances(real, made)
    manifolds = compare_manifolds(real[:MOST], made[:MOST])
    return SetScores(len(made), **vars(distances), **vars(manifolds), variety=variety(real, made))


def variety(real: Tensor, made: Tensor) -> float:
    """The spread of made features about their mean, over that of real ones."""
    spreads = [features.double().var(0).sum().sqrt() for features in (made, real)]
    return float(spreads[0] / spreads[1].clamp_min(torch.finfo(torch.float64).tiny))


def check_count(count: int, what: str) -> None:
    """Refuse sets that are too small to be compared."""
    if count < smallest_set():
        raise UserError(f"{what}: {count} images are too few to compare: {smallest_set()} at least")


def noise_images(like: Sequence[Any], seed: int) -> list[Pixels]:
    """Pixels at random, as many images of the same shape."""
    random = np.random.default_rng(seed)
    return [random.integers(0, 256, image.shape, np.uint8) for image in like]
