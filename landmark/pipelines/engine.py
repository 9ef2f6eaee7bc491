"""What searches for translations: token requests in, hypotheses out. PyTorch's is here."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from landmark.data.pairs import cut_by_budget, pack_sources
from landmark.decoding.beam_search import beam_search
from landmark.decoding.request import Request
from landmark.decoding.speaker import Hypothesis
from landmark.decoding.stepwise import (
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    sampler,
)
from landmark.models.transformer.translator import Translator

BATCH_TOKENS = 2000


class Engine(Protocol):
    """Anything that can translate tokens."""

    def search(
        self, requests: Sequence[Request], beam: int, length_penalty: float
    ) -> list[list[Hypothesis]]:
        """Up to `beam` hypotheses of each request, best first; beam 1 is greedy."""

    def sample(
        self, request: Request, draws: int, sampling: SamplingConfig, seed: int
    ) -> list[Hypothesis]:
        """Draws of one request, likeliest first, from random numbers of its own."""


class TorchEngine:
    """Searches with the model itself, in batches of like length."""

    def __init__(self, model: Translator, begin: int, end: int, device: torch.device) -> None:
        self.model, self.begin, self.end, self.device = model, begin, end, device

    def search(
        self, requests: Sequence[Request], beam: int, length_penalty: float
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in requests]
        for numbers in _batches(requests):
            batch = [requests[number] for number in numbers]
            for number, best in zip(
                numbers, self._search(batch, beam, length_penalty), strict=True
            ):
                found[number] = best
        return found

    def sample(
        self, request: Request, draws: int, sampling: SamplingConfig, seed: int
    ) -> list[Hypothesis]:
        state = self._start([request] * draws, 1)
        choose = sampler(sampling, torch.Generator(self.device).manual_seed(seed))
        drawn = decode_stepwise(
            self.model,
            state,
            [request.limit] * draws,
            self.begin,
            self.end,
            choose,
            device=self.device,
        )
        return sorted(drawn, key=lambda hypothesis: -hypothesis.score)

    def _search(self, batch: list[Request], beam: int, penalty: float) -> list[list[Hypothesis]]:
        state, limits = self._start(batch, beam), [request.limit for request in batch]
        ends = self.begin, self.end
        if beam == 1:
            greedy = decode_stepwise(
                self.model, state, limits, *ends, choose_greedily, penalty, self.device
            )
            return [[hypothesis] for hypothesis in greedy]
        return beam_search(self.model, state, limits, *ends, beam, penalty, self.device)

    @torch.inference_mode()
    def _start(self, batch: list[Request], rows: int) -> Any:
        packed, packing = pack_sources([request.source for request in batch], self.end)
        longest = max(request.limit for request in batch)
        return self.model.start(packed.to(self.device), packing.to(self.device), rows, longest)


def _batches(requests: Sequence[Request]) -> Iterator[list[int]]:
    """The numbers of the requests in batches of like length."""
    lengths = np.array([len(request.source) + 1 for request in requests], np.int64)
    order = np.argsort(lengths, kind="stable")
    for batch in cut_by_budget(order, lengths, BATCH_TOKENS):
        yield batch.tolist()
