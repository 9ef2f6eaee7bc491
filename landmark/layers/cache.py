"""Keys and values of the tokens said so far, allocated once and filled step by step."""

import torch
from torch import Tensor


class KeyValueCache:
    """The self-attention memory of one layer for R rows (sentences x beams) of at most L tokens."""

    def __init__(self, rows: int, num_heads: int, max_length: int, head_size: int, like: Tensor):
        shape = (rows, num_heads, max_length, head_size)
        self._keys = torch.empty(shape, dtype=like.dtype, device=like.device)
        self._values = torch.empty_like(self._keys)
        self.rows = rows
        self.length = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add one token's key and value, each (R, H, 1, D); returns all so far, (R, H, T, D)."""
        self._keys[: self.rows, :, self.length] = key[:, :, 0]
        self._values[: self.rows, :, self.length] = value[:, :, 0]
        self.length += 1
        return self._keys[: self.rows, :, : self.length], self._values[
            : self.rows, :, : self.length
        ]

    def select(self, rows: Tensor) -> None:
        """Keep these rows in this order (a row may repeat); storage is reused."""
        for storage in (self._keys, self._values):
            kept = storage[: self.rows, :, : self.length].index_select(0, rows)
            storage[: len(rows), :, : self.length] = kept
        self.rows = len(rows)


class Memory:
    """The encoder's keys and values for one cross-attention layer, one row a sentence."""

    def __init__(self, keys: Tensor, values: Tensor, visible: Tensor | None):
        self.keys, self.values, self.visible = keys, values, visible  # (B, H, S, D)

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)
        if self.visible is not None:
            self.visible = self.visible.index_select(0, sentences)
