"""A loaded translation run: sentences in, translations out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.pairs import cut_by_budget, pack_sources
from landmark.data.preparation import WORDS
from landmark.data.tokenizer import SubwordTokenizer, words_of
from landmark.decoding.beam_search import SearchConfig, beam_search
from landmark.decoding.speaker import Hypothesis
from landmark.decoding.stepwise import (
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    sampler,
)
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.transformer.translator import Translator
from landmark.probes.attention import cross_attention
from landmark.recipes.translation import TranslationRun

BATCH_TOKENS = 2000


@dataclass(frozen=True)
class Translation:
    """One sentence's translation, with its runners-up."""

    source: str
    text: str
    score: float
    alternatives: tuple[tuple[str, float], ...]
    """The n best, best first: text and score."""
    unknown_words: tuple[str, ...]
    """Words of the source that the model never saw in training."""


@dataclass(frozen=True)
class AttentionMap:
    """Cross-attention of one sentence: how much each target piece looks at each source piece."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Tensor  # (layers, heads, T, S)


class TranslationPipeline:
    """A run's model and tokenizer, ready to translate."""

    def __init__(
        self, run: Run, config: TranslationRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.tokenizer = SubwordTokenizer.load(run.folder / "tokenizer.json")
        if len(self.tokenizer) != config.model.vocab_size:
            raise UserError(
                f"{run.folder}: the vocabulary does not match: the model has "
                f"{config.model.vocab_size} entries, tokenizer.json has {len(self.tokenizer)}"
            )
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = Translator(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The source words of the training data."""
        path = self.run.folder / WORDS
        return (
            frozenset(path.read_text(encoding="utf-8").split()) if path.is_file() else frozenset()
        )

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """Words of a text that training never showed, also not in another case."""
        if not self.known_words:
            return ()
        strange = [
            word
            for word in words_of(text)
            if not {word, word.lower(), word.capitalize()} & self.known_words
        ]
        return tuple(dict.fromkeys(strange))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        sampling: SamplingConfig | None = None,
        seed: int = 1,
    ) -> list[Translation]:
        """Translate sentences, in any number; results come in the order given."""
        search = self.config.search
        beam = beam or max(search.beam, n_best)
        if n_best > beam:
            raise UserError(f"n_best {n_best} is more than the beam keeps ({beam}): widen the beam")
        penalty = search.length_penalty if length_penalty is None else length_penalty
        sources = self._encode(texts)
        found: list[list[Hypothesis]] = [[] for _ in texts]
        generator = torch.Generator(self.device).manual_seed(seed)
        for numbers in _batches(sources):
            chosen = [sources[number] for number in numbers]
            if sampling:
                hypotheses = [[h] for h in self._sample(chosen, search, sampling, generator)]
            else:
                hypotheses = self._search(chosen, search, beam, penalty)
            for number, best in zip(numbers, hypotheses, strict=True):
                found[number] = best
        return [self._result(text, best, n_best) for text, best in zip(texts, found, strict=True)]

    def attention(self, text: str, translation: str | None = None) -> AttentionMap:
        """Cross-attention while the translation (by default the model's own) is written."""
        if translation is None:
            translation = self.translate([text])[0].text
        source, target = self.tokenizer.encode([text, translation])
        packed, packing = pack_sources([source], self.tokenizer.end)
        inputs = torch.tensor([self.tokenizer.begin, *target], device=self.device)
        weights = cross_attention(
            self.model, packed.to(self.device), packing.to(self.device), inputs
        )
        pieces = self.tokenizer.pieces
        return AttentionMap(
            tuple(pieces([*source, self.tokenizer.end])),
            tuple(pieces([*target, self.tokenizer.end])),
            weights.cpu(),
        )

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        limit = self.config.model.max_length - 1
        sources = self.tokenizer.encode(texts)
        for number, source in enumerate(sources, 1):
            if len(source) > limit:
                raise UserError(
                    f"sentence {number} has {len(source)} tokens, but the model takes at most "
                    f"{limit}: split it ({texts[number - 1][:40]!r}…)"
                )
        return sources

    def _prepare(
        self, sources: list[list[int]], search: SearchConfig, rows: int
    ) -> tuple[Any, list[int]]:
        packed, packing = pack_sources(sources, self.tokenizer.end)
        longest = self.config.model.max_length
        limits = [min(longest, search.max_length(len(source) + 1)) for source in sources]
        with torch.inference_mode():
            state = self.model.start(
                packed.to(self.device), packing.to(self.device), rows, max(limits)
            )
        return state, limits

    def _search(
        self, sources: list[list[int]], search: SearchConfig, beam: int, penalty: float
    ) -> list[list[Hypothesis]]:
        state, limits = self._prepare(sources, search, beam)
        begin, end = self.tokenizer.begin, self.tokenizer.end
        if beam == 1:
            greedy = decode_stepwise(
                self.model, state, limits, begin, end, choose_greedily, penalty, self.device
            )
            return [[hypothesis] for hypothesis in greedy]
        return beam_search(self.model, state, limits, begin, end, beam, penalty, self.device)

    def _sample(
        self,
        sources: list[list[int]],
        search: SearchConfig,
        sampling: SamplingConfig,
        generator: torch.Generator,
    ) -> list[Hypothesis]:
        state, limits = self._prepare(sources, search, 1)
        begin, end = self.tokenizer.begin, self.tokenizer.end
        choose = sampler(sampling, generator)
        return decode_stepwise(self.model, state, limits, begin, end, choose, device=self.device)

    def _result(self, text: str, hypotheses: list[Hypothesis], n_best: int) -> Translation:
        if not hypotheses:
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        texts = self.tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses[:n_best]])
        ranked = tuple((t, h.score) for t, h in zip(texts, hypotheses, strict=False))
        return Translation(text, ranked[0][0], ranked[0][1], ranked, self.unknown_words(text))


def _batches(sources: list[list[int]]) -> Iterator[list[int]]:
    """Sentence numbers in batches of like length."""
    if not sources:
        return
    lengths = np.array([len(source) + 1 for source in sources])
    for batch in cut_by_budget(np.argsort(lengths, kind="stable"), lengths, BATCH_TOKENS):
        yield batch.tolist()
