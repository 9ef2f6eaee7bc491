"""Features of a convolutional network with random weights: a measure that needs no training.

Naeem et al. 2020, arXiv 2002.09797, section 5.1, show that random networks serve to compare sets of
images which are unlike ImageNet's. Here: strided convolutions with orthogonal weights; of the maps
after each of them the mean and the standard deviation over places, projected to 64 numbers.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NUM_FEATURES = 64
_MAPS = (32, 64, 128, 256)
_SIDE = 32
_SEED = 20_200_209


class RandomFeatures(nn.Module):
    """The same network every time, for images of so many channels, between -1 and 1."""

    num_features = NUM_FEATURES

    def __init__(self, channels: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.convolutions = nn.ModuleList(
                nn.Conv2d(before, after, 3, 2, 1, bias=False)
                for before, after in pairwise((channels, *_MAPS))
            )
            self.project = nn.Linear(2 * sum(_MAPS), NUM_FEATURES, bias=False)
            torch.manual_seed(_SEED)
            for layer in self.modules():
                if isinstance(layer, nn.Conv2d):
                    nn.init.orthogonal_(layer.weight, 2**0.5)
                elif isinstance(layer, nn.Linear):
                    nn.init.orthogonal_(layer.weight)
        self.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 64)"""
        maps = F.interpolate(images, (_SIDE, _SIDE), mode="bilinear", antialias=True)
        found = []
        for convolution in self.convolutions:
            maps = convolution(maps).relu()
            found += [maps.mean((2, 3)), maps.std((2, 3), correction=0)]
        features: Tensor = self.project(torch.cat(found, 1))
        return features
