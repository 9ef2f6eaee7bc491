"""The key-value cache of incremental decoding, allocated once and filled step by step."""

import math
from functools import cached_property

import torch
from torch import Tensor


class BeamAncestry:
    """Which of a sentence's cached tokens each of its K beams descends from.

    The beams of a sentence put their tokens into one shared cache, K a step, and never move them:
    when beams are reordered, only this table is. One table serves all layers.
    """

    def __init__(self, rows: int, beams: int, max_length: int, like: Tensor) -> None:
        self.beams, self.length = beams, 0
        shape = (rows, max_length * beams)
        self._bias = torch.full(shape, -math.inf, dtype=like.dtype, device=like.device)

    def grow(self) -> None:
        """Make room for a step: the newest token of each beam is its own."""
        start, self.length = self.length, self.length + self.beams
        newest = self._bias.view(-1, self.beams, self._bias.shape[1])[:, :, start : self.length]
        newest.diagonal(dim1=1, dim2=2).zero_()

    def select(self, rows: Tensor) -> None:
        """Keep these rows in this order; a row may repeat, but stays with its sentence."""
        self._bias = self._bias.index_select(0, rows)

    @property
    def bias(self) -> Tensor:
        """What to add to scores: 0 for a beam's own tokens, -inf elsewhere. (B, 1, K, T * K)"""
        filled = self._bias[:, : self.length]
        return filled.view(-1, self.beams, self.length)[:, None]


class KeyValueCache:
    """The self-attention memory of one layer for R rows of at most L tokens.

    With an ancestry, a row is a sentence and a step adds one token for each of its beams. With a
    gap mask, rows began with texts of unequal length, and the gap after a shorter one is hidden.
    """

    def __init__(
        self,
        rows: int,
        num_heads: int,
        max_length: int,
        head_size: int,
        like: Tensor,
        ancestry: BeamAncestry | None = None,
        gap_mask: "GapMask | None" = None,
    ):
        self.ancestry, self.gap_mask = ancestry, gap_mask
        self.beams = 1 if ancestry is None else ancestry.beams
        shape = (rows, num_heads, max_length * self.beams, head_size)
        kind = like.device.type
        lower = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind) if lower else like.dtype  # as the projections'
        self._keys = torch.empty(shape, dtype=dtype, device=like.device)
        self._values = torch.empty_like(self._keys)
        self.rows = rows
        self.length = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of a step, or of a whole text; returns all, (R, H, T, D)."""
        start, self.length = self.length, self.length + key.shape[2]
        keys, values = (x[: self.rows, :, : self.length] for x in (self._keys, self._values))
        keys[:, :, start:] = key
        values[:, :, start:] = value
        return keys, values

    @property
    def bias(self) -> Tensor | None:
        """What to add to scores: -inf for tokens that are not a row's own."""
        if self.ancestry is not None:
            return self.ancestry.bias
        return None if self.gap_mask is None else self.gap_mask.bias(self.length)

    def select(self, rows: Tensor) -> None:
        """Keep these rows in this order (a row may repeat); only those that move are copied."""
        if len(rows) > len(self._keys):
            self._keys, self._values = (x.index_select(0, rows) for x in (self._keys, self._values))
            self.rows = len(rows)
            return
        moved = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        for storage in (self._keys, self._values):
            filled = storage[:, :, : self.length]
            filled.index_copy_(0, moved, filled.index_select(0, rows[moved]))
        self.rows = len(rows)


class GapMask:
    """Masks the gap between a shorter text and the tokens generated after it; for all layers."""

    def __init__(self, lengths: Tensor, longest: int, max_length: int, like: Tensor) -> None:
        place = torch.arange(max_length, device=lengths.device)
        is_gap = (place >= lengths[:, None]) & (place < longest)
        self._bias = torch.zeros_like(is_gap, dtype=like.dtype).masked_fill_(is_gap, -math.inf)

    def bias(self, length: int) -> Tensor:
        """What to add to the scores of the first `length` places. (R, 1, 1, T)"""
        return self._bias[:, None, None, :length]

    def select(self, rows: Tensor) -> None:
        """Keep these rows in this order; a row may repeat."""
        self._bias = self._bias.index_select(0, rows)


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
        self.__dict__.pop("bias", None)

    @cached_property
    def bias(self) -> Tensor | None:
        """What to add to scores: 0 where a token is, -inf where none is. (B, 1, 1, S)"""
        if self.visible is None:
            return None
        hidden = torch.zeros_like(self.visible, dtype=self.keys.dtype)
        return hidden.masked_fill_(~self.visible, -math.inf)
