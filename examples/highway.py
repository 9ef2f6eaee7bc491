"""Highway layers: a gate decides, unit by unit, between a transformed input and the input itself.

Srivastava et al. 2015, "Highway Networks", arXiv 1505.00387: y = H(x) T(x) + x (1 - T(x)), with a
gate that is nearly closed at the start, so that a deep stack begins as almost the identity.
"""

from typing import Literal

import torch
from torch import Tensor, nn

_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


class HighwayLayer(nn.Module):
    """y = H(x) T(x) + x (1 - T(x)), H(x) = f(W x + b), T(x) = sigmoid(W_T x + b_T)."""

    def __init__(
        self, size: int, activation: Literal["relu", "tanh"] = "relu", gate_bias: float = -2.0
    ) -> None:
        super().__init__()
        self.transform = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)
        self.activation = _ACTIVATIONS[activation]
        nn.init.xavier_uniform_(self.transform.weight, nn.init.calculate_gain(activation))
        nn.init.xavier_uniform_(self.gate.weight)
        nn.init.zeros_(self.transform.bias)
        nn.init.constant_(self.gate.bias, gate_bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., D) -> (..., D)"""
        transformed = self.activation(self.transform(x))
        opened = torch.sigmoid(self.gate(x))
        return transformed * opened + x * (1 - opened)


class Highway(nn.Module):
    """Highway layers, one after the other."""

    def __init__(
        self,
        size: int,
        num_layers: int = 1,
        activation: Literal["relu", "tanh"] = "relu",
        gate_bias: float = -2.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            HighwayLayer(size, activation, gate_bias) for _ in range(num_layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., D) -> (..., D)"""
        for layer in self.layers:
            x = layer(x)
        return x
