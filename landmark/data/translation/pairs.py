"""Tokenised sentence pairs as samples: shuffled batches with a token budget, of similar lengths."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed
from landmark.data.batch import WritingBatch
from landmark.data.ordering import Plan, like_length_batches
from landmark.data.shards import TokenStore
from landmark.data.translation.bpe_dropout import BpeDropout
from landmark.layers.packing import Packing


@settings
class BatchConfig:
    """Batches of samples."""

    tokens: Annotated[int, Field(ge=1, le=limits.TOKENS)] = 4096
    """Maximum number of tokens per batch, counted on the longer side."""
    pool: Annotated[int, Field(ge=1)] = 50
    """Number of batches of shuffled pairs to sort by length together (less padding)."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""
    bpe_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """BPE-dropout: probability of dropping a merge; `tokens` counts tokens without it."""


class PairSamples:
    """Sentence pairs of a token store. Each target is <s> … , each label … </s>."""

    def __init__(
        self,
        store: TokenStore,
        config: BatchConfig,
        seed: int,
        begin: int,
        end: int,
        shuffle: bool = True,
        bpe_dropout: Mapping[str, BpeDropout] | None = None,
    ) -> None:
        self.store, self.config, self.seed, self.shuffle = store, config, seed, shuffle
        self.begin, self.end, self.bpe_dropout = begin, end, bpe_dropout or {}

    def plan(self, epoch: int) -> Plan:
        source, target = self.store.lengths["source"] + 1, self.store.lengths["target"] + 1
        cost, config = np.maximum(source, target), self.config
        sort_by = (source, target)
        return like_length_batches(
            cost, config.tokens, config.pool, self.seed, epoch, self.shuffle, sort_by
        )

    def collate(self, epoch: int, samples: Sequence[int]) -> WritingBatch:
        sources, targets = (
            [self._tokens(side, epoch, int(sample)) for sample in samples]
            for side in ("source", "target")
        )
        return collate_pairs(sources, targets, self.begin, self.end)

    def _tokens(self, side: str, epoch: int, sample: int) -> NDArray[Any]:
        """One side of a pair; BPE-dropout depends on nothing but seed, epoch and sample."""
        tokens = self.store[side, sample]
        if side not in self.bpe_dropout:
            return tokens
        random = np.random.default_rng(derive_seed(self.seed, "bpe-dropout", side, epoch, sample))
        return self.bpe_dropout[side].apply(tokens, random)


def collate_pairs(
    sources: Sequence[Any], targets: Sequence[Any], begin: int, end: int
) -> WritingBatch:
    """Token lists as one packed batch; the source ends in </s> too."""
    source, source_packing = pack_sources(sources, end)
    labels = [np.append(target, end) for target in targets]
    inputs = [np.concatenate(([begin], target)) for target in targets]
    lengths = torch.tensor([len(label) for label in labels])
    return WritingBatch(
        source=source,
        source_packing=source_packing,
        target=joined(inputs),
        labels=joined(labels),
        target_packing=Packing(lengths),
    )


def pack_sources(sources: Sequence[Any], end: int) -> tuple[Tensor, Packing]:
    """Source sentences, each closed by </s>, as packed tokens."""
    closed = [np.append(source, end) for source in sources]
    return joined(closed), Packing(torch.tensor([len(source) for source in closed]))


def joined(sequences: Sequence[NDArray[Any]]) -> Tensor:
    """Sequences end to end."""
    return torch.from_numpy(np.concatenate(sequences).astype(np.int64))
