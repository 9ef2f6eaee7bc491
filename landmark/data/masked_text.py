"""Masked texts as samples: batches with a token budget, of similar lengths.

Devlin et al. 2019, arXiv 1810.04805, section 3.1: 15 % of the tokens are to be guessed. Of these,
80 % are replaced by [MASK], 10 % by any other token, and 10 % stay as they are. Which ones is drawn
anew in each epoch (as in RoBERTa, Liu et al. 2019, arXiv 1907.11692), and depends on nothing but
seed, epoch and sample.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.limits import WORKERS
from landmark.core.runtime import derive_seed
from landmark.data.batch import MaskedBatch
from landmark.data.ordering import Plan, like_length_batches
from landmark.data.running_text.segment import SegmentPlan
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.shards import TokenStore
from landmark.layers.packing import Packing

_MASKED, _REPLACED = 0.8, 0.9  # up to here: [MASK]; up to there: any token; above: as it was


@settings
class MaskedTokenConfig:
    """Training objective."""

    share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Fraction of tokens to predict (BERT: 0.15)."""
    whole_words: bool = False
    """Whole-word masking: mask all pieces of a word together."""
    next_sentence: bool = True
    """Train on pairs of segments with next-sentence prediction as well."""


@settings
class MaskedBatchConfig:
    """Batches of samples."""

    tokens: Annotated[int, Field(ge=1)] = 4096
    """Maximum number of tokens per batch."""
    pool: Annotated[int, Field(ge=1)] = 50
    """Number of batches of shuffled samples to sort by length together (less padding)."""
    short: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of samples that are shorter than the model's maximum length."""
    workers: Annotated[int, Field(ge=0, le=WORKERS)] = 0
    """Number of worker processes that load batches; 0: load in the main process."""


class Hidden(NamedTuple):
    """A text with some tokens hidden."""

    tokens: NDArray[Any]
    places: NDArray[np.int64]
    labels: NDArray[Any]
    """What stood at these places."""


class MaskedSamples:
    """Samples of a store of sentences: [CLS] first [SEP], or [CLS] first [SEP] second [SEP]."""

    def __init__(
        self,
        store: TokenStore,
        config: MaskedBatchConfig,
        objective: MaskedTokenConfig,
        tokenizer: WordPieceTokenizer,
        max_length: int,
        seed: int,
        shuffle: bool = True,
    ) -> None:
        self.config, self.objective, self.tokenizer = config, objective, tokenizer
        self.seed, self.shuffle = seed, shuffle
        self.separators = separators(objective)
        self.texts = SegmentPlan(
            store,
            max_length - self.separators,
            objective.next_sentence,
            config.short if shuffle else 0.0,
            seed,
        )

    def plan(self, epoch: int) -> Plan:
        cost, config = self.texts.lengths(epoch) + self.separators, self.config
        return like_length_batches(cost, config.tokens, config.pool, self.seed, epoch, self.shuffle)

    def collate(self, epoch: int, samples: Sequence[int]) -> MaskedBatch:
        hidden, segments, kinds = [], [], []
        for sample in samples:
            first, second, kind = self.texts.tokens(epoch, int(sample))
            tokens, parts = self._joined(first, second)
            random = np.random.default_rng(derive_seed(self.seed, "mask", epoch, int(sample)))
            hidden.append(hide(tokens, self.objective, self.tokenizer, random))
            segments.append(parts)
            kinds.append(kind)
        lengths = np.array([len(text.tokens) for text in hidden])
        begins = np.cumsum(lengths) - lengths
        places = [text.places + begin for text, begin in zip(hidden, begins, strict=True)]
        return MaskedBatch(
            tokens=_tensor([text.tokens for text in hidden]),
            packing=Packing(torch.from_numpy(lengths)),
            segments=_tensor(segments),
            places=_tensor(places),
            labels=_tensor([text.labels for text in hidden]),
            kinds=torch.tensor(kinds),
        )

    def _joined(
        self, first: NDArray[Any], second: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tokens of a sample, and which segment each is of."""
        begin, end = [self.tokenizer.begin], [self.tokenizer.separator]
        parts = (begin, first, end, second, end) if len(second) else (begin, first, end)
        tokens = np.concatenate(parts).astype(np.int64)
        return tokens, (np.arange(len(tokens)) >= len(first) + 2).astype(np.int64)


def separators(objective: MaskedTokenConfig) -> int:
    """How many tokens of a text are [CLS] and [SEP], at most."""
    return 3 if objective.next_sentence else 2


def hide(
    tokens: NDArray[np.int64],
    config: MaskedTokenConfig,
    tokenizer: WordPieceTokenizer,
    random: np.random.Generator,
) -> Hidden:
    """Hide a share of a text's tokens, one at least; never [CLS] and [SEP]."""
    is_text = (tokens != tokenizer.begin) & (tokens != tokenizer.separator)
    candidates = np.flatnonzero(is_text)
    # Rounded up or down by chance, so that the share is right over many short texts.
    count = max(1, int(len(candidates) * config.share + random.random()))
    if config.whole_words:
        places = _whole_words(candidates, tokenizer.continues[tokens[candidates]], count, random)
    else:
        places = np.sort(random.permutation(candidates)[:count])
    labels = tokens[places]
    chance = random.random(len(places))
    others = random.choice(tokenizer.ordinary, len(places))
    changed = np.where(chance < _REPLACED, others, labels)
    tokens = tokens.copy()
    tokens[places] = np.where(chance < _MASKED, tokenizer.mask, changed)
    return Hidden(tokens, places, labels)


def _whole_words(
    candidates: NDArray[np.int64],
    continues: NDArray[np.bool_],
    count: int,
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """Words in random order that do not make too many pieces together; one in any case."""
    # A piece behind [CLS] or [SEP] begins anew even if its entry goes on a word.
    begins = ~continues | (np.diff(candidates, prepend=-2) > 1)
    words = np.split(candidates, np.flatnonzero(begins)[1:])
    order = random.permutation(len(words))
    chosen: list[NDArray[np.int64]] = []
    for number in order:
        if len(words[number]) <= count:
            chosen.append(words[number])
            count -= len(words[number])
    return np.sort(np.concatenate(chosen or [words[order[0]]]))


def _tensor(sequences: Sequence[NDArray[Any]]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(sequences).astype(np.int64))
