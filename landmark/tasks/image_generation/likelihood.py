"""Parzen-window likelihood as the first GAN paper reports it, beside what misleads it.

As many centres of k-means as there are samples, found in training images, score better than the
training images themselves: they are blurred, and so near everything (Theis et al. 2016).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from landmark.data.images.store import Images
from landmark.metrics.parzen import ParzenScore, parzen_score
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline

_WIDTH_IMAGES = 1000
"""Held-out images that the window's width is chosen by."""
_MOST_CENTRES = 1000


@dataclass(frozen=True)
class ParzenComparison:
    """Of as many samples, training images, and centres of k-means."""

    count: int
    samples: ParzenScore
    real: ParzenScore
    centres: ParzenScore


def compare_likelihoods(
    pipeline: ImageGenerationPipeline, test: Images, train: Images, count: int, seed: int
) -> ParzenComparison:
    """The likelihood of test images; the width is chosen on the run's validation split."""
    valid = _flat(pipeline.split("valid"), _WIDTH_IMAGES)
    tested, known = _flat(test, len(test)), _flat(train, count)
    made = np.stack([image.ravel() for image in pipeline.generate(pipeline.draw(count, seed))])
    rows = (_as_numbers(made), known, _centres(known, min(_MOST_CENTRES, len(known)), seed))
    return ParzenComparison(count, *(parzen_score(row, valid, tested) for row in rows))


def _flat(images: Images, count: int) -> Tensor:
    """So many images as vectors between 0 and 1. (N, D)"""
    chosen = np.linspace(0, len(images) - 1, min(count, len(images))).astype(np.int64)
    return _as_numbers(np.stack([images[index].ravel() for index in chosen.tolist()]))


def _as_numbers(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Tensor:
    return torch.from_numpy(pixels).double() / 255


def _centres(images: Tensor, count: int, seed: int) -> Tensor:
    from sklearn.cluster import MiniBatchKMeans

    found = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=4096).fit(images.numpy())
    return torch.from_numpy(found.cluster_centers_)
