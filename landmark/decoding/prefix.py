"""Forced prefixes of the outputs, as one table for a batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

_FREE = -1


class Prefixes:
    """The forced first tokens of B sentences; sentences without any are free from the start."""

    def __init__(
        self,
        prefixes: Sequence[Sequence[int]],
        limits: Sequence[int],
        end: int,
        device: torch.device | None = None,
    ) -> None:
        for number, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True)):
            if len(prefix) >= limit:
                raise ValueError(
                    f"sentence {number}: a prefix of {len(prefix)} tokens for a limit of {limit}"
                )
            if end in prefix:
                raise ValueError(f"sentence {number}: a prefix with the end token")
        self.length = max(map(len, prefixes), default=0)
        rows = [[*prefix, *[_FREE] * (self.length - len(prefix))] for prefix in prefixes]
        self._table = torch.tensor(rows, dtype=torch.int64, device=device)

    def at(self, length: int, sentences: Tensor) -> tuple[Tensor, Tensor] | None:
        """The tokens forced at that step (from 1) and which of the sentences are; None if none."""
        if length > self.length:
            return None
        tokens = self._table[sentences, length - 1]
        return tokens.clamp(min=0), tokens != _FREE
