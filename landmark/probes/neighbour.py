"""Nearest neighbours in an embedding, and their projection to the plane."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Neighbour:
    """An entry of the vocabulary, and how near it lies."""

    number: int
    cosine: float


@torch.inference_mode()
def nearest(
    table: Tensor, vector: Tensor, count: int, among: Sequence[int], but: Sequence[int] = ()
) -> list[Neighbour]:
    """The entries `among` these whose embeddings point most nearly where a vector does.

    table: (V, D), vector: (D,)
    """
    excluded = set(but)
    numbers = torch.tensor([number for number in among if number not in excluded])
    cosines = F.cosine_similarity(table[numbers].double(), vector.double()[None], dim=-1)
    best = cosines.topk(min(count, len(numbers)))
    found = zip(numbers[best.indices].tolist(), best.values.tolist(), strict=True)
    return [Neighbour(number, cosine) for number, cosine in found]


@torch.inference_mode()
def principal_plane(vectors: Tensor) -> tuple[Tensor, tuple[float, float]]:
    """Vectors in the plane in which they differ most, and the share of variance on each axis.

    Principal component analysis (Pearson 1901). A direction has no sign of its own: here the place
    that lies farthest out is on the positive side. (M, D) -> (M, 2)
    """
    centred = (vectors - vectors.mean(0)).double()
    left, values, _ = torch.linalg.svd(centred, full_matrices=False)
    places = torch.zeros(len(vectors), 2, dtype=torch.float64)
    size = min(2, len(values))
    places[:, :size] = (left * values)[:, :size]
    farthest = places.abs().argmax(0)
    places *= torch.where(places.gather(0, farthest[None]) < 0, -1.0, 1.0)
    shares = F.pad(values.square() / values.square().sum().clamp(min=1e-30), (0, 2))
    return places.float(), (float(shares[0]), float(shares[1]))
