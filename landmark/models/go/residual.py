"""A small residual network that judges a position in one pass: moves, result, owners, score.

Residual blocks and two heads: Silver et al. 2017, "Mastering the game of Go without human
knowledge", Nature 550. Global pooling in some blocks, ownership and score as further targets: Wu
2019, "Accelerating Self-Play Learning in Go", arXiv 1902.10565. Departures: batch normalisation as
it is usual, and means and maxima are pooled without the terms that tell board sizes apart, because
a network learns one size.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.go.network import Count, GoNetwork, GoNetworkConfig, GoOutput

_POOLED = 16
"""Channels that are pooled over the board, in blocks and in the heads."""
_POINTS = 10.0
"""The score head counts in tens of points."""


@settings
class GoResNetConfig(GoNetworkConfig):
    """Configuration of the residual network."""

    architecture: Literal["residual"] = "residual"
    """Network: residual, alphago-policy or alphago-value."""
    planes: Annotated[int, Field(ge=1, le=1000)] = 20
    num_blocks: Annotated[int, Field(ge=1, le=100)] = 5
    """Number of residual blocks."""
    width: Count = 48
    """Channels of the blocks."""
    pooling_blocks: tuple[int, ...] = (1, 3)
    """Blocks that see the whole board by global pooling, counted from 0."""

    @model_validator(mode="after")
    def _blocks_are_there(self) -> "GoResNetConfig":
        if any(not 0 <= block < self.num_blocks for block in self.pooling_blocks):
            raise ValueError(f"pooling_blocks: counted from 0 to {self.num_blocks - 1}")
        if self.width <= _POOLED:
            raise ValueError(f"width: more than the {_POOLED} channels that are pooled")
        return self


def _convolve(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """A convolution with batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
    )


def _pool(maps: Tensor) -> Tensor:
    """Mean and maximum over the board. (B, C, N, N) -> (B, 2 C)"""
    flat = maps.flatten(2)
    return torch.cat([flat.mean(2), flat.amax(2)], 1)


class GlobalPooling(nn.Module):
    """Some channels, pooled over the board, are added to the others at every point."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.spread = nn.Linear(2 * _POOLED, channels - _POOLED)

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, N, N) -> the same shape"""
        pooled, rest = maps[:, :_POOLED], maps[:, _POOLED:]
        rest = rest + self.spread(_pool(pooled))[:, :, None, None]
        return torch.cat([pooled, rest], 1)


class ResidualBlock(nn.Module):
    """y = ReLU(x + F(x)), two convolutions; perhaps with global pooling between them."""

    def __init__(self, width: int, pools: bool) -> None:
        super().__init__()
        self.first, self.second = _convolve(width, width, 3), _convolve(width, width, 3)
        self.pooling = GlobalPooling(width) if pools else None

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, N, N) -> the same shape"""
        maps = torch.relu(self.first(x))
        if self.pooling is not None:
            maps = self.pooling(maps)
        return torch.relu(x + self.second(maps))


class PolicyHead(nn.Module):
    """A logit for each point, and for a pass by the whole board."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.local, self.pooled = _convolve(width, _POOLED, 1), _convolve(width, _POOLED, 1)
        self.spread = nn.Linear(2 * _POOLED, _POOLED)
        self.output = nn.Conv2d(_POOLED, 1, 1)
        self.passing = nn.Linear(2 * _POOLED, 1)

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, N, N) -> (B, N * N + 1)"""
        pooled = _pool(torch.relu(self.pooled(maps)))
        local = torch.relu(self.local(maps) + self.spread(pooled)[:, :, None, None])
        return torch.cat([self.output(local).flatten(1), self.passing(pooled)], 1)


class ValueHead(nn.Module):
    """The result's logit, the score, and who owns each point at the end."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.local = _convolve(width, _POOLED, 1)
        self.hidden = nn.Linear(2 * _POOLED, width)
        self.output = nn.Linear(width, 2)
        self.ownership = nn.Conv2d(_POOLED, 1, 1)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, C, N, N) -> value (B,), score (B,), ownership (B, N * N)"""
        local = torch.relu(self.local(maps))
        result = self.output(torch.relu(self.hidden(_pool(local))))
        owners = torch.tanh(self.ownership(local)).flatten(1)
        return result[:, 0], _POINTS * result[:, 1], owners


class GoResNet(GoNetwork):
    """A convolution, residual blocks, and the two heads."""

    def __init__(self, config: GoResNetConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = _convolve(config.planes, config.width, 3)
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(config.width, block in config.pooling_blocks)
                for block in range(config.num_blocks)
            )
        )
        self.policy, self.value = PolicyHead(config.width), ValueHead(config.width)
        _begin(self)

    def forward(self, planes: Tensor) -> GoOutput:
        """(B, C, N, N) -> all judgements"""
        maps = self.blocks(torch.relu(self.stem(planes)))
        value, score, owners = self.value(maps)
        return GoOutput(self.policy(maps), value, owners, score)


def _begin(network: nn.Module) -> None:
    """He et al. 2015; the last norm of a block begins at 0, so that blocks begin as identity."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, ResidualBlock):
            norm = module.second[1]
            assert isinstance(norm, nn.BatchNorm2d)
            nn.init.zeros_(norm.weight)
