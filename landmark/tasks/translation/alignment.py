"""Word alignments by a run's cross-attention, and which layer and head give the best."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.embedded import corpus as embedded
from landmark.data.embedded.corpus import SentencePair
from landmark.data.ordering import cut_by_budget
from landmark.data.translation.pairs import collate_pairs
from landmark.data.translation.parallel_text import Pair
from landmark.metrics.alignment import AlignmentScore, Link, score_alignments
from landmark.probes.alignment import NO_WORD, most_watched, word_attention, words_of_tokens
from landmark.probes.attention import cross_attentions
from landmark.tasks.card import Result
from landmark.tasks.translation.options import BATCH_TOKENS
from landmark.tasks.translation.pipeline import TranslationPipeline
from landmark.tasks.translation.scoring import encode_pairs

_BLOCK = 500  # pairs read at a time
GOLD_PAIRS = 200


@dataclass(frozen=True)
class AttentionChoice:
    """Whose attention is read, and when."""

    layer: int
    """Of the decoder, from 1."""
    head: int | None
    """From 1; None: the mean of all."""
    shifted: bool
    """Read when a token has been read in, not when it is written."""

    def __str__(self) -> str:
        head = "mean of heads" if self.head is None else f"head {self.head}"
        step = "when the word is read in" if self.shifted else "when the word is written"
        return f"layer {self.layer}, {head}, {step}"

    def pick(self, weights: Tensor) -> Tensor:
        """(L, H, T, S) -> (T, S)"""
        layer = weights[self.layer - 1]
        return layer.mean(0) if self.head is None else layer[self.head - 1]


@dataclass(frozen=True)
class Alignment(Result):
    """One pair's words, links between them, and the attention they come from."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[Link]
    weights: Tensor
    """Of each target word to each source word, and last to none of them (</s>)."""
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    attention: Tensor
    """Of each target piece (</s> last) to each source piece, as the model has it."""
    choice: AttentionChoice
    """Whose attention it is."""
    is_own: bool = False
    """Whether the translation is the model's own."""
    number: int = 1
    """Which pair it is."""

    @property
    def pharaoh(self) -> str:
        """The links as `source-target` places from 0."""
        return " ".join(f"{source}-{target}" for source, target in sorted(self.links))

    def json(self) -> dict[str, Any]:
        return {
            "source": list(self.source),
            "target": list(self.target),
            "links": [list(link) for link in sorted(self.links)],
            "weights": _rounded(self.weights),
            "source_pieces": list(self.source_pieces),
            "target_pieces": list(self.target_pieces),
            "attention": _rounded(self.attention),
        }

    def lines(self) -> list[str]:
        """The links; before those of the model's own translation, that translation."""
        return [f"{' '.join(self.target)}\t{self.pharaoh}" if self.is_own else self.pharaoh]


def _rounded(rows: Tensor) -> list[list[float]]:
    return [[round(value, 6) for value in row] for row in rows.tolist()]


@dataclass(frozen=True)
class HeadScore:
    """How well one choice aligns."""

    choice: AttentionChoice
    score: AlignmentScore


@dataclass(frozen=True)
class HeadScores(Result):
    """How well every layer and head aligns, at both steps."""

    trials: tuple[HeadScore, ...]

    def json(self) -> dict[str, Any]:
        winner = best(self.trials)
        return {
            "trials": [
                {**vars(trial.choice), **vars(trial.score), "best": trial is winner}
                for trial in self.trials
            ]
        }

    def lines(self) -> list[str]:
        """Alignment error rates in percent: a table for each of the two steps, the best marked."""
        winner, heads = best(self.trials), [trial.choice.head for trial in self.trials]
        lines = []
        for shifted in (False, True):
            step = "read in (--shift)" if shifted else "written (--no-shift)"
            lines.append(f"alignment error rate in percent, attention when the word is {step}")
            named = "".join(f"{_head(head):>10}" for head in dict.fromkeys(heads))
            lines.append(f"{'layer':<8}{named}")
            for layer in sorted({trial.choice.layer for trial in self.trials}):
                lines.append(f"{layer:<8}{self._row(layer, shifted, winner)}")
        score = winner.score
        lines.append(
            f"* best: {winner.choice}: error rate {100 * score.error_rate:.1f} %, precision "
            f"{100 * score.precision:.1f} %, recall {100 * score.recall:.1f} % "
            f"({score.sentences:,} gold-aligned sentences)"
        )
        return lines

    def _row(self, layer: int, shifted: bool, winner: HeadScore) -> str:
        row = [t for t in self.trials if (t.choice.layer, t.choice.shifted) == (layer, shifted)]
        marked = [(t.score.error_rate, "*" if t is winner else " ") for t in row]
        return "".join(f"{f'{100 * rate:.1f}{mark}':>10}" for rate, mark in marked)


def _head(head: int | None) -> str:
    return "mean " if head is None else f"head {head} "


def align_pairs(
    pipeline: TranslationPipeline,
    pairs: Iterable[Pair],
    choice: AttentionChoice,
    names: tuple[str, str] = ("source", "target"),
    language: str | None = None,
) -> Iterator[Alignment]:
    """Align the words (by spaces, in the model's form) of pairs as they come, in their order."""
    stream, first = iter(pairs), 1
    while block := list(islice(stream, _BLOCK)):
        tokens = encode_pairs(pipeline, block, names, first, language)
        yield from align_block(pipeline, block, tokens, choice, language)
        first += len(block)


def align_block(
    pipeline: TranslationPipeline,
    pairs: Sequence[Pair],
    tokens: tuple[list[list[int]], list[list[int]]],
    choice: AttentionChoice,
    language: str | None = None,
) -> list[Alignment]:
    """Align pairs whose tokens are known."""
    form = pipeline.target_form(language)
    return [
        _align(pipeline, (pipeline.source_form.read(source), form.read(target)), seen, choice)
        for (source, target), seen in zip(pairs, _observe(pipeline, *tokens), strict=True)
    ]


def check_choice(pipeline: TranslationPipeline, choice: AttentionChoice) -> None:
    """Refuse a layer or a head that the model does not have."""
    layers, heads = pipeline.model.attention_shape
    head = 1 if choice.head is None else choice.head
    for name, number, most in (("layer", choice.layer, layers), ("head", head, heads)):
        if not 1 <= number <= most:
            raise UserError(f"there is no {name} {number}: the decoder has {name}s 1 to {most}")


def default_choice(pipeline: TranslationPipeline) -> AttentionChoice:
    """The best on gold alignments, which there are of the embedded corpus only.

    Elsewhere the layer before the last, as Garg et al. 2019, arXiv 1909.02074, found; of two
    layers the last.
    """
    if pipeline.config.data.corpus == "embedded":
        return best(try_choices(pipeline, gold_pairs(pipeline))).choice
    layers, _ = pipeline.model.attention_shape
    return AttentionChoice(layers - 1 if layers > 2 else layers, None, False)


def gold_pairs(
    pipeline: TranslationPipeline, count: int | None = None, split: str = "valid"
) -> list[SentencePair]:
    """Sentences of the embedded corpus with their gold alignments, by default GOLD_PAIRS."""
    data = pipeline.config.data
    if data.corpus != "embedded":
        raise UserError(
            f"{pipeline.run.folder}: was not trained on the embedded corpus, the only one with "
            "gold alignments: give --layer, --head and --shift instead"
        )
    drawn = list(embedded.draw(split, count or GOLD_PAIRS, data.corpus_seed))
    return [_turned(pair) for pair in drawn] if data.reverse else drawn


def _turned(pair: SentencePair) -> SentencePair:
    return SentencePair(
        source=pair.target,
        target=pair.source,
        source_words=pair.target_words,
        target_words=pair.source_words,
        alignment=tuple((b, a) for a, b in pair.alignment),
        phenomenon=pair.phenomenon,
    )


def try_choices(pipeline: TranslationPipeline, pairs: Sequence[SentencePair]) -> list[HeadScore]:
    """The alignment error rate of every layer, head and mean of heads, at both steps."""
    layers, heads = pipeline.model.attention_shape
    choices = [
        AttentionChoice(layer, head, shifted)
        for shifted in (False, True)
        for layer in range(1, layers + 1)
        for head in (*range(1, heads + 1), None)
    ]
    found: list[list[set[Link]]] = [[] for _ in choices]
    texts = [(pair.source, pair.target) for pair in pairs]
    tokens = encode_pairs(pipeline, texts, ("source", "target"))
    for pair, (weights, _, _) in zip(pairs, _observe(pipeline, *tokens), strict=True):
        columns = _token_words(pipeline, pair.source, pair.source_words, weights.shape[-1])
        rows = words_of_tokens(pipeline.tokenizer.target, pair.target, pair.target_words)
        each = torch.cat((weights, weights.mean(1, keepdim=True)), 1)  # (L, H + 1, T + 1, S)
        both = [word_attention(each, rows, columns, shifted) for shifted in (False, True)]
        chosen = most_watched(torch.stack(both)).flatten(0, 2).tolist()
        for links, sources in zip(found, chosen, strict=True):
            links.append({(source, target) for target, source in enumerate(sources)})
    gold = [set(pair.alignment) for pair in pairs]
    return [
        HeadScore(choice, score_alignments(links, gold))
        for choice, links in zip(choices, found, strict=True)
    ]


def best(trials: Sequence[HeadScore]) -> HeadScore:
    """The trial with the least alignment error."""
    return min(trials, key=lambda trial: trial.score.error_rate)


Observation = tuple[Tensor, list[int], list[int]]
"""Attention (L, H, T + 1, S) and the tokens of both sides, with </s>."""


def _observe(
    pipeline: TranslationPipeline, sources: list[list[int]], targets: list[list[int]]
) -> Iterator[Observation]:
    """Teacher forcing: the attention while each target is written, pair by pair."""
    begin, end = pipeline.tokenizer.begin, pipeline.tokenizer.end
    costs = np.array([max(len(a), len(b)) + 1 for a, b in zip(sources, targets, strict=True)])
    for numbers in cut_by_budget(np.arange(len(costs)), costs, BATCH_TOKENS):
        left = [sources[number] for number in numbers]
        right = [targets[number] for number in numbers]
        batch = collate_pairs(left, right, begin, end).to(pipeline.device)
        seen = cross_attentions(pipeline.model, batch)
        for weights, source, target in zip(seen, left, right, strict=True):
            yield weights.cpu(), [*source, end], [*target, end]


def _token_words(
    pipeline: TranslationPipeline, text: str, words: Sequence[str], count: int
) -> list[int]:
    """The word of each of `count` source tokens: a tag before the text and </s> have none."""
    inner = words_of_tokens(pipeline.tokenizer.source, text, words)
    return [NO_WORD] * (count - len(inner) - 1) + inner + [NO_WORD]


def _align(
    pipeline: TranslationPipeline, texts: Pair, seen: Observation, choice: AttentionChoice
) -> Alignment:
    weights, *tokens = seen
    words = texts[0].split(), texts[1].split()
    columns = _token_words(pipeline, texts[0], words[0], len(tokens[0]))
    rows = words_of_tokens(pipeline.tokenizer.target, texts[1], words[1])
    attention = choice.pick(weights)
    links: list[int] = []
    soft = torch.zeros(len(words[1]), len(words[0]) + 1)
    if words[0] and words[1]:  # a blank side has no words to link
        soft = word_attention(attention, rows, columns, choice.shifted)
        links = most_watched(soft).tolist()
    return Alignment(
        tuple(words[0]),
        tuple(words[1]),
        frozenset((source, target) for target, source in enumerate(links)),
        soft,
        tuple(pipeline.tokenizer.source.pieces(tokens[0])),
        tuple(pipeline.tokenizer.target.pieces(tokens[1])),
        attention,
        choice,
    )
