"""What searches for translations: token requests in, hypotheses out. PyTorch's is here."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from landmark.data.translation.pairs import cut_by_budget, pack_sources
from landmark.decoding.beam_search import beam_search
from landmark.decoding.constraints import PhraseGuide, beam_width
from landmark.decoding.ensemble import Ensemble, EnsembleState
from landmark.decoding.prefix import Prefixes
from landmark.decoding.request import Request
from landmark.decoding.speaker import Hypothesis, Speaker
from landmark.decoding.stepwise import (
    Chooser,
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    sampler,
)
from landmark.models.translation import TranslationModel

BATCH_TOKENS = 4000


class Engine(Protocol):
    """Anything that can translate tokens."""

    def search(
        self, requests: Sequence[Request], beam: int, length_penalty: float
    ) -> list[list[Hypothesis]]:
        """Up to `beam` hypotheses of each request, best first; beam 1 is greedy."""

    def sample(
        self,
        requests: Sequence[Request],
        draws: int,
        sampling: SamplingConfig,
        seeds: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Draws of each request, likeliest first, from random numbers of its own seed."""


class TorchEngine:
    """Searches with the model itself, or several of one vocabulary as one, in batches.

    Requests with phrases are searched apart, in a beam as wide as the phrases need.
    """

    def __init__(
        self,
        models: TranslationModel | Sequence[TranslationModel],
        begin: int,
        end: int,
        device: torch.device,
    ) -> None:
        self.models = [models] if isinstance(models, TranslationModel) else list(models)
        self.begin, self.end, self.device = begin, end, device
        sizes = {model.config.vocab_size or 0 for model in self.models}
        if len(sizes) != 1:
            raise ValueError(f"an ensemble needs models of one vocabulary, not {sorted(sizes)}")
        self.speaker: Speaker = self.models[0] if len(self.models) == 1 else Ensemble(self.models)

    def search(
        self, requests: Sequence[Request], beam: int, length_penalty: float
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in requests]
        # The rows that each request needs; 0 for one without phrases.
        widths = [
            beam_width(request.phrases, beam) if request.phrases else 0 for request in requests
        ]
        for width in sorted(set(widths)):
            numbers = [number for number, its in enumerate(widths) if its == width]
            for batch in batches_of(requests, numbers):
                chosen = [requests[number] for number in batch]
                best = self._search(chosen, width or beam, length_penalty, phrased=width > 0)
                for number, hypotheses in zip(batch, best, strict=True):
                    found[number] = hypotheses[:beam]
        return found

    def sample(
        self,
        requests: Sequence[Request],
        draws: int,
        sampling: SamplingConfig,
        seeds: Sequence[int],
    ) -> list[list[Hypothesis]]:
        if any(request.phrases for request in requests):
            raise ValueError("phrases are honoured by search, not by sampling")
        found: list[list[Hypothesis]] = [[] for _ in requests]
        for batch in batches_of(requests, range(len(requests)), draws):
            chosen = [requests[number] for number in batch]
            uniform = self._uniform(chosen, draws, [seeds[number] for number in batch])
            rows = [request for request in chosen for _ in range(draws)]
            drawn = self._speak(rows, sampler(sampling, uniform), 0.0)
            for place, number in enumerate(batch):
                its = drawn[place * draws : (place + 1) * draws]
                found[number] = sorted(its, key=lambda hypothesis: -hypothesis.score)
        return found

    def _search(
        self, batch: list[Request], beam: int, penalty: float, phrased: bool
    ) -> list[list[Hypothesis]]:
        if beam == 1:
            return [[hypothesis] for hypothesis in self._speak(batch, choose_greedily, penalty)]
        limits = [request.limit for request in batch]
        guide = None
        if phrased:
            phrases = [request.phrases for request in batch]
            beginnings = [request.prefix for request in batch]
            guide = PhraseGuide(phrases, limits, self.end, beam, beginnings, self.device)
        prefixes, state = self._prefixes(batch), self._start(batch, beam)
        search = (self.speaker, state, limits, self.begin, self.end, beam, penalty, self.device)
        return beam_search(*search, prefixes, guide)

    def _speak(self, batch: list[Request], choose: Chooser, penalty: float) -> list[Hypothesis]:
        limits = [request.limit for request in batch]
        prefixes, state = self._prefixes(batch), self._start(batch, 1)
        ends = (self.begin, self.end)
        return decode_stepwise(
            self.speaker, state, limits, *ends, choose, penalty, self.device, prefixes
        )

    def _prefixes(self, batch: list[Request]) -> Prefixes | None:
        """The batch's prefixes, if it has any."""
        beginnings = [request.prefix for request in batch]
        limits = [request.limit for request in batch]
        return Prefixes(beginnings, limits, self.end, self.device) if any(beginnings) else None

    def _uniform(self, batch: list[Request], draws: int, seeds: list[int]) -> torch.Tensor:
        """Numbers in [0, 1) for each draw and step, those of a request by its seed alone."""
        longest = max(request.limit for request in batch)
        numbers = torch.zeros(len(batch), draws, longest)
        for row, request, seed in zip(numbers, batch, seeds, strict=True):
            generator = torch.Generator().manual_seed(seed)
            row[:, : request.limit] = torch.rand(draws, request.limit, generator=generator)
        return numbers.flatten(0, 1).to(self.device)

    @torch.inference_mode()
    def _start(self, batch: list[Request], rows: int) -> Any:
        packed, packing = pack_sources([request.source for request in batch], self.end)
        longest = max(request.limit for request in batch)
        source, packing = packed.to(self.device), packing.to(self.device)
        states = [model.start(source, packing, rows, longest) for model in self.models]
        return states[0] if len(states) == 1 else EnsembleState(states)


def batches_of(
    requests: Sequence[Request], numbers: Sequence[int], draws: int = 1
) -> Iterator[list[int]]:
    """These numbers of requests in batches of like length."""
    lengths = np.array([(len(request.source) + 1) * draws for request in requests], np.int64)
    chosen = np.array(numbers, np.int64)
    order = chosen[np.argsort(lengths[chosen], kind="stable")]
    for batch in cut_by_budget(order, lengths, BATCH_TOKENS):
        yield batch.tolist()
