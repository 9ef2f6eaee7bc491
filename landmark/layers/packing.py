"""Packed sequences: concatenated without padding, so that no layer computes on padding.

Linear layers, norms and losses work on packed tokens (N, D), N being the true number of tokens.
Only attention needs the padded grid (B, T, D), and goes there and back through a Packing.
"""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor


class Packing:
    """Where each packed token stands in the padded grid of its batch."""

    def __init__(
        self, lengths: Tensor, max_length: int | None = None, num_tokens: int | None = None
    ) -> None:
        self.lengths = lengths
        self.batch_size = lengths.numel()
        self.max_length = int(lengths.max()) if max_length is None else max_length
        self.num_tokens = int(lengths.sum()) if num_tokens is None else num_tokens

    @classmethod
    def full(cls, batch_size: int, length: int, device: torch.device | None = None) -> "Packing":
        """The packing of sequences that all have the same length."""
        lengths = torch.full((batch_size,), length, device=device)
        return cls(lengths, length, batch_size * length)

    def to(self, device: torch.device) -> "Packing":
        if self.lengths.device == device:
            return self
        return Packing(self.lengths.to(device), self.max_length, self.num_tokens)

    @property
    def is_full(self) -> bool:
        """Whether every sequence has the full length, so that packing is only a reshape."""
        return self.num_tokens == self.batch_size * self.max_length

    @cached_property
    def rows(self) -> Tensor:
        """Which sequence each packed token belongs to. (N,)"""
        sequence = torch.arange(self.batch_size, device=self.lengths.device)
        return torch.repeat_interleave(sequence, self.lengths, output_size=self.num_tokens)

    @cached_property
    def positions(self) -> Tensor:
        """The place of each packed token in its sequence. (N,)"""
        starts = torch.cumsum(self.lengths, 0) - self.lengths
        return torch.arange(self.num_tokens, device=self.lengths.device) - starts[self.rows]

    @cached_property
    def slots(self) -> Tensor:
        """The place of each packed token in the flattened grid. (N,)"""
        return self.rows * self.max_length + self.positions

    @cached_property
    def visible(self) -> Tensor | None:
        """Which grid positions hold a token, to attend to: (B, 1, 1, T); None if all do."""
        if self.is_full:
            return None
        place = torch.arange(self.max_length, device=self.lengths.device)
        return (place < self.lengths[:, None])[:, None, None, :]

    @cached_property
    def longest_first(self) -> Tensor:
        """The sequences by length, those of equal length in their order. (B,)"""
        return torch.argsort(self.lengths, descending=True, stable=True)

    @cached_property
    def ranks(self) -> Tensor:
        """The place of each sequence among those, longest first. (B,)"""
        return torch.argsort(self.longest_first)

    @cached_property
    def batch_sizes(self) -> Tensor:
        """How many sequences have a token at each time; on the CPU, where kernels want it. (T,)"""
        if self.is_full:  # known without looking at the lengths
            return torch.full((self.max_length,), self.batch_size, device="cpu")
        return torch.bincount(self.positions).cpu()

    @cached_property
    def time_order(self) -> Tensor:
        """The packed tokens time by time, of the longest sequence first. (N,)"""
        return torch.argsort(self.positions * self.batch_size + self.ranks[self.rows])

    def to_time_major(self, packed: Tensor) -> Tensor:
        """Sequence after sequence to time after time, as recurrent layers read. (N, ...)"""
        moved: Tensor = _Gather.apply(packed, self.time_order)
        return moved

    def from_time_major(self, tokens: Tensor) -> Tensor:
        """Time after time back to sequence after sequence. (N, ...)"""
        moved: Tensor = _Scatter.apply(tokens, self.time_order, self.num_tokens)
        return moved

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, D) to (B, T, D), zeros where there is no token."""
        grid = (self.batch_size, self.max_length, *packed.shape[1:])
        if self.is_full:
            return packed.view(grid)
        padded: Tensor = _Scatter.apply(packed, self.slots, grid[0] * grid[1])
        return padded.view(grid)

    def pack(self, padded: Tensor) -> Tensor:
        """(B, T, D) to (N, D), leaving the padding behind."""
        flat = padded.reshape(self.batch_size * self.max_length, *padded.shape[2:])
        if self.is_full:
            return flat
        packed: Tensor = _Gather.apply(flat, self.slots)
        return packed


class _Scatter(torch.autograd.Function):
    """Rows to distinct slots; its gradient is a plain gather (torch's own would add up)."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, slots: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(slots)
        return packed.new_zeros(size, *packed.shape[1:]).index_copy_(0, slots, packed)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (slots,) = ctx.saved_tensors
        return gradients[0].index_select(0, slots), None, None


class _Gather(torch.autograd.Function):
    """Rows from distinct slots; its gradient is a plain scatter."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, slots: Tensor) -> Tensor:
        ctx.save_for_backward(slots)
        ctx.size = flat.shape[0]
        return flat.index_select(0, slots)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (slots,) = ctx.saved_tensors
        gradient = gradients[0]
        return gradient.new_zeros(ctx.size, *gradient.shape[1:]).index_copy_(
            0, slots, gradient
        ), None
