"""Small networks with random weights, for tests of what uses networks."""

import torch
from torch import nn

from landmark.go.network.evaluator import TrainedNetwork
from landmark.models.go.alphago import (
    AlphagoPolicy,
    AlphagoPolicyConfig,
    AlphagoValue,
    AlphagoValueConfig,
)
from landmark.models.go.residual import GoResNet, GoResNetConfig


def residual(size: int = 9, seed: int = 1) -> TrainedNetwork:
    """With all outputs, and norms that do something."""
    torch.manual_seed(seed)
    module = GoResNet(GoResNetConfig(size=size, num_blocks=2, width=24, pooling_blocks=(1,)))
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_mean, -0.5, 0.5)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.uniform_(norm.weight, 0.5, 2)
    return TrainedNetwork(module.eval(), "board", size)


def policy_alone(size: int = 9) -> TrainedNetwork:
    torch.manual_seed(2)
    config = AlphagoPolicyConfig(size=size, features="board", planes=20, filters=8, num_layers=3)
    return TrainedNetwork(AlphagoPolicy(config).eval(), "board", size)


def value_alone(size: int = 9) -> TrainedNetwork:
    torch.manual_seed(3)
    config = AlphagoValueConfig(
        size=size, features="board", planes=20, filters=8, num_layers=3, hidden_size=8
    )
    return TrainedNetwork(AlphagoValue(config).eval(), "board", size)
