"""Scoring given translations: the log-probability of every target token."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.batch import WritingBatch
from landmark.data.ordering import cut_by_budget
from landmark.data.translation.pairs import collate_pairs
from landmark.data.translation.parallel_text import Pair
from landmark.models.translation import TranslationModel
from landmark.tasks.card import Result
from landmark.tasks.translation.options import BATCH_TOKENS
from landmark.tasks.translation.pipeline import TranslationPipeline, subject

_BLOCK = 1000  # pairs read at a time, sorted by length and scored in batches
_CHUNK_ELEMENTS = 1 << 21  # logits held at a time


@dataclass(frozen=True)
class PairScore(Result):
    """A translation's tokens, </s> last, and the natural logarithm of each one's probability."""

    source: str
    target: str
    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    per_piece: bool = False
    """Whether the tokens' own log-probabilities are shown."""

    @property
    def log_probability(self) -> float:
        """log P(target | source)"""
        return math.fsum(self.log_probabilities)

    @property
    def per_token(self) -> float:
        return self.log_probability / len(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        return perplexity(self.log_probability, len(self.log_probabilities))

    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "log_probability": self.log_probability,
            "per_token": self.per_token,
            "perplexity": self.perplexity,
            "tokens": len(self.pieces),
        }
        if self.per_piece:
            record["pieces"] = list(self.pieces)
            record["log_probabilities"] = list(self.log_probabilities)
        return record

    def lines(self) -> list[str]:
        """Tab-separated: the sum, the mean over tokens, the perplexity; piece=value of each."""
        columns = [self.log_probability, self.per_token, self.perplexity]
        line = "\t".join(f"{value:.4f}" for value in columns)
        if self.per_piece:
            parts = zip(self.pieces, self.log_probabilities, strict=True)
            line += "\t" + " ".join(f"{_visible(piece)}={value:.4f}" for piece, value in parts)
        return [line]


def perplexity(log_probability: float, tokens: int) -> float:
    """The inverse probability of a token, on average."""
    return math.exp(min(700.0, -log_probability / tokens))  # the largest that a float can hold


def _visible(piece: str) -> str:
    """A piece as one word: the space that begins a word as a sign, as SentencePiece shows it."""
    return "".join("▁" if sign.isspace() else sign for sign in piece)


def score_pairs(
    pipeline: TranslationPipeline,
    pairs: Iterable[Pair],
    names: tuple[str, str] = ("source", "target"),
    language: str | None = None,
) -> Iterator[PairScore]:
    """Score sentence pairs as they come, in their order and in constant memory.

    `names`: what a message calls the two sides (`name:number: …`), for instance their files.
    `language`: the targets', for a model of several.
    """
    stream, first = iter(pairs), 1
    while block := list(islice(stream, _BLOCK)):
        yield from score_block(
            pipeline, block, encode_pairs(pipeline, block, names, first, language)
        )
        first += len(block)


def score_block(
    pipeline: TranslationPipeline,
    pairs: Sequence[Pair],
    tokens: tuple[list[list[int]], list[list[int]]],
    per_piece: bool = False,
) -> list[PairScore]:
    """Score pairs whose tokens are known."""
    found, end = [], pipeline.tokenizer.end
    for pair, target, values in zip(pairs, tokens[1], score_tokens(pipeline, *tokens), strict=True):
        pieces = pipeline.tokenizer.target.pieces([*target, end])
        found.append(PairScore(*pair, tuple(pieces), tuple(values), per_piece))
    return found


def encode_pairs(
    pipeline: TranslationPipeline,
    pairs: Sequence[Pair],
    names: tuple[str, str] = ("source", "target"),
    first_number: int = 1,
    language: str | None = None,
) -> tuple[list[list[int]], list[list[int]]]:
    """Tokens of both sides, in the model's form; what it cannot take is named by its line."""
    numbers = range(first_number, first_number + len(pairs))
    sides = [[f"{name}:{number}: the sentence" for number in numbers] for name in names]
    return _encode_sides(pipeline, pairs, sides[0], sides[1], language)


def encode_placed(
    pipeline: TranslationPipeline,
    pairs: Sequence[Pair],
    places: Sequence[str],
    language: str | None = None,
) -> tuple[list[list[int]], list[list[int]]]:
    """The same of pairs that have a place each."""
    sides = [[subject(place, noun) for place in places] for noun in ("sentence", "translation")]
    return _encode_sides(pipeline, pairs, sides[0], sides[1], language)


def _encode_sides(
    pipeline: TranslationPipeline,
    pairs: Sequence[Pair],
    left: Sequence[str],
    right: Sequence[str],
    language: str | None,
) -> tuple[list[list[int]], list[list[int]]]:
    form = pipeline.target_form(language)
    sources = pipeline.encode_sources([pair[0] for pair in pairs], left, form)
    return sources, pipeline.encode_targets([pair[1] for pair in pairs], right, form)


def batches_of_pairs(
    pipeline: TranslationPipeline,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> Iterator[tuple[list[int], WritingBatch]]:
    """Token pairs in batches of like length, each with the numbers of its pairs."""
    costs = np.array([max(len(a), len(b)) + 1 for a, b in zip(sources, targets, strict=True)])
    for numbers in cut_by_budget(np.argsort(costs, kind="stable"), costs, BATCH_TOKENS):
        batch = collate_pairs(
            [sources[number] for number in numbers],
            [targets[number] for number in numbers],
            pipeline.tokenizer.begin,
            pipeline.tokenizer.end,
        )
        yield numbers.tolist(), batch.to(pipeline.device)


def score_tokens(
    pipeline: TranslationPipeline,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> list[list[float]]:
    """Of each target token, and of </s> after them, the log-probability."""
    found: list[list[float]] = [[] for _ in targets]
    for numbers, batch in batches_of_pairs(pipeline, sources, targets):
        with torch.inference_mode():
            hidden = pipeline.model(
                batch.source, batch.source_packing, batch.target, batch.target_packing
            )
            values = _log_probabilities(pipeline.model, hidden, batch.labels)
        parts = values.cpu().split(batch.target_packing.lengths.tolist())
        for number, part in zip(numbers, parts, strict=True):
            found[number] = part.tolist()
            if not all(math.isfinite(value) for value in found[number]):
                raise UserError(f"{pipeline.checkpoint}: the model's output is not finite")
    return found


def _log_probabilities(model: TranslationModel, hidden: Tensor, labels: Tensor) -> Tensor:
    """Of each label, a chunk at a time: the logits of all would be large. (N, D), (N,) -> (N,)"""
    rows = max(1, _CHUNK_ELEMENTS // model.output.weight.shape[0])
    parts = [
        model.logits(part).float().log_softmax(-1).gather(1, wanted[:, None])[:, 0]
        for part, wanted in zip(hidden.split(rows), labels.split(rows), strict=True)
    ]
    return torch.cat(parts)
