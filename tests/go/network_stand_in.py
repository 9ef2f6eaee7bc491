"""A small residual network and features of three planes, for tests of what uses networks."""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.go.network.evaluator import GoNetwork
from landmark.go.rules.geometry import points_of


class StandInOutput(NamedTuple):
    policy: Tensor
    value: Tensor
    ownership: Tensor | None
    score: Tensor | None


class StandInFeatures:
    """Own stones, the opponent's, and ones."""

    channels = 3

    def planes(self, states: np.ndarray, size: int, komi: float) -> np.ndarray:
        colours = states["colour"][:, points_of(size)]
        own = colours == states["to_move"][:, None]
        other = colours == 3 - states["to_move"][:, None]
        planes = np.stack([own, other, np.ones_like(own)], 1)
        return planes.reshape(len(states), 3, size, size).astype(np.float32)


class StandInNetwork(nn.Module):
    def __init__(self, size: int, width: int = 8, has_ownership: bool = True) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.residual = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        )
        self.policy, self.ownership = nn.Conv2d(width, 1, 1), nn.Conv2d(width, 1, 1)
        self.pooled = nn.Linear(2 * width, 3)
        self.has_ownership = has_ownership

    def forward(self, planes: Tensor) -> StandInOutput:
        x = self.stem(planes)
        x = F.relu(x + self.residual(x))
        passing, value, score = self.pooled(torch.cat((x.mean((2, 3)), x.amax((2, 3))), 1)).T
        policy = torch.cat((self.policy(x).flatten(1), passing[:, None]), 1)
        if not self.has_ownership:
            return StandInOutput(policy, value, None, None)
        return StandInOutput(policy, value, torch.tanh(self.ownership(x).flatten(1)), score)


def stand_in(size: int = 9, has_ownership: bool = True, seed: int = 1) -> GoNetwork:
    """A network with random weights and norms that are not trivial."""
    torch.manual_seed(seed)
    module = StandInNetwork(size, has_ownership=has_ownership)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_mean, -0.5, 0.5)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.uniform_(norm.weight, 0.5, 2)
    nn.init.normal_(module.policy.weight, std=2.0)
    nn.init.normal_(module.ownership.weight)
    return GoNetwork(module.eval(), StandInFeatures(), size, 7.0)
