"""DCGAN: a generator and a discriminator of strided convolutions, for images of any size.

Radford, Metz and Chintala 2015, "Unsupervised Representation Learning with Deep Convolutional
Generative Adversarial Networks", arXiv 1511.06434. Its kernels are 4 x 4 here, as those of the
authors' successors and of PyTorch's example. The discriminator may take spectral normalisation in
place of batch normalisation (Miyato et al. 2018, arXiv 1802.05957).
"""

from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from landmark.core.configuration import settings
from landmark.models.adversarial.image import (
    ImageDiscriminator,
    ImageGanConfig,
    ImageGenerator,
    Width,
)

SMALLEST = 4
"""Pixels of the shorter side where the generator begins, at least."""
_GRID = 4
"""Maps are pooled to so many places a side to be taken as features."""
_SLOPE = 0.2
_STD = 0.02


@settings
class DcganConfig(ImageGanConfig):
    """Configuration of a DCGAN's generator and discriminator."""

    architecture: Literal["dcgan"] = "dcgan"
    """Networks: dcgan or maxout."""
    width: Width = 32
    """Number of feature maps next to the image; it doubles whenever the maps halve (paper: 128)."""
    discriminator_norm: Literal["batch", "spectral", "none"] = "batch"
    """Normalisation in the discriminator: batch (the paper's), spectral or none."""

    @model_validator(mode="after")
    def _is_large_enough(self) -> "DcganConfig":
        if min(self.shape) < 2 * SMALLEST:
            raise ValueError(f"model.image_size: must be at least {2 * SMALLEST} pixels a side")
        return self

    @property
    def grids(self) -> list[tuple[int, int]]:
        """Height and width of the maps, from the image's down: half each time, rounded down."""
        grids = [self.shape]
        while min(grids[-1]) >= 2 * SMALLEST:
            height, width = grids[-1]
            grids.append((height // 2, width // 2))
        return grids

    @property
    def maps(self) -> list[int]:
        """Number of maps of each of these sizes; of the first, the image's channels."""
        return [self.channels, *(self.width << level for level in range(len(self.grids) - 1))]


class DcganGenerator(ImageGenerator):
    """Project noise to small maps, and enlarge them by transposed convolutions."""

    def __init__(self, config: DcganConfig, noise_size: int) -> None:
        super().__init__()
        self.grids, self.maps = config.grids[::-1], config.maps[::-1]
        (height, width), maps = self.grids[0], self.maps[0]
        self.project = nn.Linear(noise_size, height * width * maps, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(maps) for maps in self.maps[:-1])
        self.enlarge = nn.ModuleList(
            nn.ConvTranspose2d(
                before, after, 4, 2, 1, bias=False, output_padding=_beyond(small, large)
            )
            for (before, after), (small, large) in zip(
                pairwise(self.maps), pairwise(self.grids), strict=True
            )
        )
        _begin(self)

    def forward(self, noise: Tensor) -> Tensor:
        """(B, Z) -> (B, C, H, W) between -1 and 1"""
        height, width = self.grids[0]
        maps = self.project(noise).view(-1, height, width, self.maps[0]).permute(0, 3, 1, 2)
        for norm, enlarge in zip(self.norms, self.enlarge, strict=True):
            maps = enlarge(norm(maps).relu_())
        return torch.tanh(maps)


class DcganDiscriminator(ImageDiscriminator):
    """Halve an image by strided convolutions, and judge what is left."""

    def __init__(self, config: DcganConfig, pack: int = 1) -> None:
        super().__init__()
        (height, width), maps = config.grids[-1], [config.channels * pack, *config.maps[1:]]
        norm, bias = config.discriminator_norm, config.discriminator_norm != "batch"
        self.reduce = nn.ModuleList(
            nn.Conv2d(before, after, 4, 2, 1, bias=bias) for before, after in pairwise(maps)
        )
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(after) if norm == "batch" and level else nn.Identity()
            for level, after in enumerate(maps[1:])
        )
        self.judge = nn.Linear(height * width * maps[-1], 1, bias=bias)
        _begin(self)
        if norm == "spectral":
            for layer in (*self.reduce, self.judge):
                spectral_norm(layer)

    def stages(self, images: Tensor) -> list[Tensor]:
        """The maps after each convolution. (B, M, H, W) each"""
        stages, maps = [], images
        for reduce, norm in zip(self.reduce, self.norms, strict=True):
            maps = F.leaky_relu(norm(reduce(maps)), _SLOPE, inplace=True)
            stages.append(maps)
        return stages

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 1)"""
        last = self.stages(images)[-1]
        logits: Tensor = self.judge(last.permute(0, 2, 3, 1).flatten(1))
        return logits

    def features(self, images: Tensor) -> Tensor:
        """All maps, each pooled to a grid of 4 x 4 by its maxima (the paper's section 5.1)."""
        pooled = [F.adaptive_max_pool2d(maps, _GRID).flatten(1) for maps in self.stages(images)]
        return torch.cat(pooled, 1)


def _beyond(small: tuple[int, int], large: tuple[int, int]) -> tuple[int, int]:
    """What twice the smaller size lacks of the larger one: a row, a column, or nothing."""
    return large[0] - 2 * small[0], large[1] - 2 * small[1]


def _begin(network: nn.Module) -> None:
    """Weights from N(0, 0.02), scales of batch norms from N(1, 0.02); maps lie channels-last."""
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, _STD)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, _STD)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
