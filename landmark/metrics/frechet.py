"""Distances between sets of images by features of them: FID, KID and MiFID.

They are those of torchmetrics, given features in place of images. FID: Heusel et al. 2017, arXiv
1706.08500. KID: Bińkowski et al. 2018, arXiv 1801.01401, which is unbiased, so right for few
images. MiFID: Bai et al. 2021, arXiv 2106.03062, which adds to FID what was learnt by heart.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError

_SUBSETS, _SUBSET = 20, 500
FEWEST = 2
"""Images of a set, for a covariance."""


@dataclass(frozen=True)
class SetDistances:
    """0, but for chance, where both sets are of one distribution."""

    fid: float
    kid: float
    mifid: float


class _Given(nn.Module):
    """Stands where torchmetrics has the Inception network: it is given its features."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def forward(self, features: Tensor) -> Tensor:
        return features


def set_distances(real: Tensor, made: Tensor) -> SetDistances:
    """Of features (N, F) and (M, F)."""
    name = "mifid.MemorizationInformedFrechetInceptionDistance"
    mifid = _computed(name, real, made, _Given(real.shape[1]))
    return SetDistances(frechet_distance(real, made), kernel_distance(real, made), float(mifid))


def frechet_distance(real: Tensor, made: Tensor) -> float:
    """FID of features (N, F) and (M, F)."""
    given = _Given(real.shape[1])
    return float(_computed("fid.FrechetInceptionDistance", real, made, given))


def kernel_distance(real: Tensor, made: Tensor) -> float:
    """KID of features (N, F) and (M, F): the mean over subsets, which are always the same."""
    subset = min(_SUBSET, len(real), len(made))
    given = _Given(real.shape[1]), _SUBSETS, subset
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        mean, _ = _computed("kid.KernelInceptionDistance", real, made, *given)
    return float(mean)


def _computed(name: str, real: Tensor, made: Tensor, *arguments: Any) -> Any:
    """A metric of torchmetrics.image, in double precision."""
    module, _, kind = name.partition(".")
    try:
        metric = getattr(import_module(f"torchmetrics.image.{module}"), kind)
    except (ImportError, RuntimeError) as error:  # it imports a torchvision that is there
        raise UserError(
            f"torchmetrics cannot be imported ({error}): is there a torchvision for another torch? "
            "pip uninstall torchvision"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that buffers will take memory
        computed = metric(*arguments).set_dtype(torch.float64)
    computed.update(real.double(), real=True)
    computed.update(made.double(), real=False)
    return computed.compute()
