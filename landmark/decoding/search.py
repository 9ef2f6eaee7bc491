"""Search or sample for a batch of requests, from the state that was started for them.

The state may be of encoded sentences, of an image or of a sound: nothing here looks into it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from landmark.decoding.beam_search import beam_search
from landmark.decoding.blocking import Blocking
from landmark.decoding.constraints import PhraseGuide, beam_width
from landmark.decoding.prefix import Prefixes
from landmark.decoding.request import Request
from landmark.decoding.speaker import Hypothesis, Speaker, SpeakerState
from landmark.decoding.stepwise import (
    Chooser,
    SamplingConfig,
    choose_greedily,
    decode_stepwise,
    sampler,
)


def rows_needed(request: Request, beam: int) -> int:
    """Hypotheses to keep for a request: more than `beam` where its phrases need them."""
    return beam_width(request.phrases, beam) if request.phrases else beam


@dataclass(frozen=True)
class Search:
    """A speaker, and the tokens that begin and end what it says."""

    speaker: Speaker
    begin: int
    end: int
    device: torch.device | None = None

    def best(
        self,
        state: SpeakerState,
        requests: Sequence[Request],
        rows: int,
        length_penalty: float,
        blocking: Blocking | None = None,
    ) -> list[list[Hypothesis]]:
        """Up to `rows` hypotheses of each request, best first; 1 is greedy.

        The state has `rows` rows a request. Requests with phrases need a batch of their own.
        """
        if rows == 1:
            greedy = self._speak(state, requests, choose_greedily, length_penalty, blocking)
            return [[hypothesis] for hypothesis in greedy]
        limits = [request.limit for request in requests]
        guide = None
        if any(request.phrases for request in requests):
            phrases = [request.phrases for request in requests]
            beginnings = [request.prefix for request in requests]
            guide = PhraseGuide(phrases, limits, self.end, rows, beginnings, self.device)
        return beam_search(
            self.speaker,
            state,
            limits,
            self.begin,
            self.end,
            rows,
            length_penalty,
            self.device,
            self._prefixes(requests),
            guide,
            blocking,
        )

    def draw(
        self,
        state: SpeakerState,
        requests: Sequence[Request],
        seeds: Sequence[int],
        draws: int,
        sampling: SamplingConfig,
        length_penalty: float,
        blocking: Blocking | None = None,
    ) -> list[list[Hypothesis]]:
        """Draws of each request, best score first, from random numbers of its own seed.

        The state holds what each request is about `draws` times over, with one row each.
        """
        if any(request.phrases for request in requests):
            raise ValueError("required phrases need beam search, not sampling")
        uniform = self._uniform(requests, draws, seeds)
        repeated = [request for request in requests for _ in range(draws)]
        drawn = self._speak(state, repeated, sampler(sampling, uniform), length_penalty, blocking)
        return [
            sorted(drawn[first : first + draws], key=lambda hypothesis: -hypothesis.score)
            for first in range(0, len(drawn), draws)
        ]

    def _speak(
        self,
        state: SpeakerState,
        requests: Sequence[Request],
        choose: Chooser,
        length_penalty: float,
        blocking: Blocking | None,
    ) -> list[Hypothesis]:
        return decode_stepwise(
            self.speaker,
            state,
            [request.limit for request in requests],
            self.begin,
            self.end,
            choose,
            length_penalty,
            self.device,
            self._prefixes(requests),
            blocking,
        )

    def _prefixes(self, requests: Sequence[Request]) -> Prefixes | None:
        """The requests' prefixes, if there are any."""
        beginnings = [request.prefix for request in requests]
        limits = [request.limit for request in requests]
        return Prefixes(beginnings, limits, self.end, self.device) if any(beginnings) else None

    def _uniform(
        self, requests: Sequence[Request], draws: int, seeds: Sequence[int]
    ) -> torch.Tensor:
        """Numbers in [0, 1) for each draw and step, those of a request by its seed alone."""
        longest = max(request.limit for request in requests)
        numbers = torch.zeros(len(requests), draws, longest)
        for row, request, seed in zip(numbers, requests, seeds, strict=True):
            generator = torch.Generator().manual_seed(seed)
            row[:, : request.limit] = torch.rand(draws, request.limit, generator=generator)
        return numbers.flatten(0, 1).to(self.device)
