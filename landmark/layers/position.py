"""Position embeddings: the paper's sinusoids, or learned."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, hidden_size: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same): section 3.5. (L, D)"""
    # Room for all of it comes first: a length beyond the machine's memory shows here.
    table = torch.empty(length, hidden_size + hidden_size % 2, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)[:, None]
    exponent = torch.arange(0, hidden_size, 2, dtype=torch.float64) / hidden_size
    angle = position * torch.exp(-math.log(10_000.0) * exponent)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table[:, :hidden_size].float()


class SinusoidalPosition(nn.Module):
    """Fixed encodings: no parameters, and no limit learned from the training lengths.

    In `halves`, all sines come before all cosines, as Marian has them.
    """

    def __init__(self, max_length: int, hidden_size: int, halves: bool = False) -> None:
        super().__init__()
        table = sinusoids(max_length, hidden_size)
        if halves:
            table = torch.cat((table[:, 0::2], table[:, 1::2]), 1)
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        return self.table[positions]


class LearnedPosition(nn.Module):
    """A trained vector for each of `max_length` positions."""

    def __init__(self, max_length: int, hidden_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_length, hidden_size)
        nn.init.normal_(self.embedding.weight, std=hidden_size**-0.5)

    def forward(self, positions: Tensor) -> Tensor:
        embedded: Tensor = self.embedding(positions)
        return embedded
