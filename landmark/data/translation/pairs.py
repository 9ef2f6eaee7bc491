"""Tokenised sentence pairs as samples: batches of a token budget, of like lengths, shuffled."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed
from landmark.data.batch import TranslationBatch
from landmark.data.shards import TokenStore
from landmark.data.translation.bpe_dropout import BpeDropout
from landmark.layers.packing import Packing


@settings
class BatchConfig:
    """How samples are put together for one update."""

    tokens: Annotated[int, Field(ge=1)] = 4096
    """Most tokens an update, counted on the longer side."""
    pool: Annotated[int, Field(ge=1)] = 50
    """Batches' worth of shuffled pairs that are sorted by length together."""
    workers: Annotated[int, Field(ge=0)] = 0
    """Extra processes that prepare batches."""
    bpe_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """BPE-dropout: the probability that a merge is undone; `tokens` are counted before it."""


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
        bpe_dropout: BpeDropout | None = None,
    ) -> None:
        self.store, self.config, self.seed, self.shuffle = store, config, seed, shuffle
        self.begin, self.end, self.bpe_dropout = begin, end, bpe_dropout

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Shuffle, sort pools of neighbours by length, cut by the budget, shuffle the batches."""
        source, target = self.store.lengths["source"] + 1, self.store.lengths["target"] + 1
        cost = np.maximum(source, target)
        random = np.random.default_rng(derive_seed(self.seed, "order", epoch))
        order = random.permutation(len(cost)) if self.shuffle else np.arange(len(cost))
        pool_tokens = self.config.pool * self.config.tokens
        batches: list[NDArray[np.int64]] = []
        for pool in cut_by_budget(order, cost, pool_tokens):
            by_length = pool[np.lexsort((source[pool], target[pool]))]
            batches += cut_by_budget(by_length, cost, self.config.tokens)
        if self.shuffle:
            batches = [batches[number] for number in random.permutation(len(batches))]
        return batches

    def collate(self, epoch: int, samples: Sequence[int]) -> TranslationBatch:
        sources, targets = (
            [self._tokens(side, epoch, int(sample)) for sample in samples]
            for side in ("source", "target")
        )
        return collate_pairs(sources, targets, self.begin, self.end)

    def _tokens(self, side: str, epoch: int, sample: int) -> NDArray[Any]:
        """One side of a pair; BPE-dropout depends on nothing but seed, epoch and sample."""
        tokens = self.store[side, sample]
        if self.bpe_dropout is None:
            return tokens
        random = np.random.default_rng(derive_seed(self.seed, "bpe-dropout", side, epoch, sample))
        return self.bpe_dropout.apply(tokens, random)


def collate_pairs(
    sources: Sequence[Any], targets: Sequence[Any], begin: int, end: int
) -> TranslationBatch:
    """Token lists as one packed batch; the source ends in </s> too."""
    source, source_packing = pack_sources(sources, end)
    labels = [np.append(target, end) for target in targets]
    inputs = [np.concatenate(([begin], target)) for target in targets]
    lengths = torch.tensor([len(label) for label in labels])
    return TranslationBatch(
        source=source,
        source_packing=source_packing,
        target=_joined(inputs),
        labels=_joined(labels),
        target_packing=Packing(lengths),
    )


def pack_sources(sources: Sequence[Any], end: int) -> tuple[Tensor, Packing]:
    """Source sentences, each closed by </s>, as packed tokens."""
    closed = [np.append(source, end) for source in sources]
    return _joined(closed), Packing(torch.tensor([len(source) for source in closed]))


def _joined(sequences: Sequence[NDArray[Any]]) -> Tensor:
    return torch.from_numpy(np.concatenate(sequences).astype(np.int64))


def cut_by_budget(
    order: NDArray[np.int64], cost: NDArray[np.int64], budget: int
) -> list[NDArray[np.int64]]:
    """Cut an order into runs whose cost is within the budget (a dearer one stands alone)."""
    total = np.cumsum(cost[order])
    cuts = [0]
    while cuts[-1] < len(order):
        spent = total[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(total, spent + budget, side="right"))))
    return [order[start:stop] for start, stop in pairwise(cuts)]
