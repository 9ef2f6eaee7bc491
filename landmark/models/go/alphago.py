"""AlphaGo's policy network and value network.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search", Nature
529, Methods: 13 layers, the first of 5 x 5, the others of 3 x 3, the last of 1 x 1 with a bias of
its own at each point; the value network has one more layer of convolution, and 256 units before its
output. The planes are those of Extended Data Table 2. The value network's output is a logit here
(the paper: tanh of half of it, the same number between -1 and 1).
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.go.network import Count, GoNetwork, GoNetworkConfig, GoOutput, with_pass

Depth = Annotated[int, Field(ge=2, le=100)]
POLICY_PLANES, VALUE_PLANES = 48, 49


@settings
class AlphagoPolicyConfig(GoNetworkConfig):
    """Configuration of the policy network."""

    architecture: Literal["alphago-policy"] = "alphago-policy"
    """Network: residual, alphago-policy or alphago-value."""
    features: str = "alphago"
    planes: Annotated[int, Field(ge=1, le=1000)] = POLICY_PLANES
    filters: Count = 192
    """Channels of the hidden layers (paper: 192; 128, 256 and 384 are compared)."""
    num_layers: Depth = 13
    """Number of layers, the output's included."""


@settings
class AlphagoValueConfig(GoNetworkConfig):
    """Configuration of the value network."""

    architecture: Literal["alphago-value"] = "alphago-value"
    """Network: residual, alphago-policy or alphago-value."""
    features: str = "alphago-value"
    planes: Annotated[int, Field(ge=1, le=1000)] = VALUE_PLANES
    filters: Count = 192
    """Channels of the hidden layers."""
    num_layers: Depth = 13
    """Number of convolutions, that of one filter at the end included."""
    hidden_size: Count = 256
    """Width of the layer before the output."""


def _stack(planes: int, filters: int, count: int) -> nn.Sequential:
    """Convolutions with ReLU, the first of 5 x 5."""
    layers: list[nn.Module] = [nn.Conv2d(planes, filters, 5, padding=2), nn.ReLU(inplace=True)]
    for _ in range(count - 1):
        layers += [nn.Conv2d(filters, filters, 3, padding=1), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class AlphagoPolicy(GoNetwork):
    """A probability for each point; a pass has none."""

    def __init__(self, config: AlphagoPolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.body = _stack(config.planes, config.filters, config.num_layers - 1)
        self.output = nn.Conv2d(config.filters, 1, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(config.points))
        _begin(self)

    def forward(self, planes: Tensor) -> GoOutput:
        """(B, C, N, N) -> policy (B, N * N + 1)"""
        logits = self.output(self.body(planes)).flatten(1) + self.bias
        return GoOutput(policy=with_pass(logits))


class AlphagoValue(GoNetwork):
    """Who wins if both go on as they do."""

    def __init__(self, config: AlphagoValueConfig) -> None:
        super().__init__()
        self.config = config
        self.body = _stack(config.planes, config.filters, config.num_layers - 1)
        self.last = nn.Conv2d(config.filters, 1, 1)
        self.hidden = nn.Linear(config.points, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, 1)
        _begin(self)

    def forward(self, planes: Tensor) -> GoOutput:
        """(B, C, N, N) -> value (B,)"""
        maps = self.last(self.body(planes)).flatten(1)
        return GoOutput(value=self.output(torch.relu(self.hidden(maps)))[:, 0])


def _begin(network: nn.Module) -> None:
    """He et al. 2015, so that thirteen layers without normalisation learn from the start."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
