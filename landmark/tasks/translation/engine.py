"""Decoding engines for translation: token requests in, hypotheses out. PyTorch's is here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from landmark.core.runtime import Precision, autocast
from landmark.data.ordering import cut_by_budget
from landmark.data.translation.pairs import pack_sources
from landmark.decoding.blocking import Blocking
from landmark.decoding.ensemble import Ensemble, EnsembleState
from landmark.decoding.request import Request
from landmark.decoding.search import Search, rows_needed
from landmark.decoding.speaker import Hypothesis, Speaker
from landmark.decoding.stepwise import SamplingConfig
from landmark.models.translation import TranslationModel
from landmark.tasks.translation.options import SEARCH_TOKENS

BATCH_TOKENS = 4000
"""Of pairs that are scored together, on the longer side."""


@dataclass(frozen=True)
class Decoding:
    """What holds for searching and sampling alike."""

    blocking: Blocking | None = None
    batch_tokens: int = SEARCH_TOKENS
    """Maximum number of source tokens times hypotheses in a batch; a longer sentence is a batch of
    its own.
    """


PLAIN = Decoding()


@dataclass(frozen=True)
class SourceRequest(Request):
    """A request for the translation of a source."""

    source: tuple[int, ...] = ()
    """Its tokens, without </s>."""


class Engine(Protocol):
    """Anything that can translate tokens."""

    def search(
        self,
        requests: Sequence[SourceRequest],
        beam: int,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        """Up to `beam` hypotheses of each request, best first; beam 1 is greedy."""

    def sample(
        self,
        requests: Sequence[SourceRequest],
        seeds: Sequence[int],
        draws: int,
        sampling: SamplingConfig,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        """Draws of each request, best score first, from random numbers of its own seed."""


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
        precision: Precision = "fp32",
    ) -> None:
        self.models = [models] if isinstance(models, TranslationModel) else list(models)
        sizes = {model.config.vocab_size or 0 for model in self.models}
        if len(sizes) != 1:
            raise ValueError(f"an ensemble needs models of one vocabulary, not {sorted(sizes)}")
        speaker: Speaker = self.models[0] if len(self.models) == 1 else Ensemble(self.models)
        self._search = Search(_Whole(speaker), begin, end, device)
        self.end, self.device, self.precision = end, device, precision

    def search(
        self,
        requests: Sequence[SourceRequest],
        beam: int,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        with autocast(self.device, self.precision):
            return self._best(requests, beam, length_penalty, decoding)

    def _best(
        self,
        requests: Sequence[SourceRequest],
        beam: int,
        length_penalty: float,
        decoding: Decoding,
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in requests]
        kinds = [(bool(request.phrases), rows_needed(request, beam)) for request in requests]
        for kind in sorted(set(kinds)):
            numbers = [number for number, its in enumerate(kinds) if its == kind]
            rows = kind[1]
            for batch in batches_of(requests, numbers, rows, decoding.batch_tokens):
                chosen = [requests[number] for number in batch]
                state = self._start(chosen, rows)
                best = self._search.best(state, chosen, rows, length_penalty, decoding.blocking)
                for number, hypotheses in zip(batch, best, strict=True):
                    found[number] = hypotheses[:beam]
        return found

    def sample(
        self,
        requests: Sequence[SourceRequest],
        seeds: Sequence[int],
        draws: int,
        sampling: SamplingConfig,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in requests]
        for batch in batches_of(requests, range(len(requests)), draws, decoding.batch_tokens):
            chosen, its = [requests[n] for n in batch], [seeds[n] for n in batch]
            with autocast(self.device, self.precision):
                state = self._start([request for request in chosen for _ in range(draws)], 1)
                drawn = self._search.draw(
                    state, chosen, its, draws, sampling, length_penalty, decoding.blocking
                )
            for number, hypotheses in zip(batch, drawn, strict=True):
                found[number] = hypotheses
        return found

    @torch.inference_mode()
    def _start(self, batch: list[SourceRequest], rows: int) -> Any:
        """Encode the sources: what the searches go on from."""
        packed, packing = pack_sources([request.source for request in batch], self.end)
        longest = max(request.limit for request in batch)
        source, packing = packed.to(self.device), packing.to(self.device)
        states = [model.start(source, packing, rows, longest) for model in self.models]
        return states[0] if len(states) == 1 else EnsembleState(states)


class _Whole:
    """A speaker whose logits are in single precision, whatever it computes them in."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    def step(self, tokens: torch.Tensor, state: Any) -> torch.Tensor:
        return self.speaker.step(tokens, state).float()


def batches_of(
    requests: Sequence[SourceRequest],
    numbers: Sequence[int],
    rows: int,
    budget: int = SEARCH_TOKENS,
) -> Iterator[list[int]]:
    """These numbers of requests in batches of like length; `rows`: hypotheses of each."""
    lengths = np.array([(len(request.source) + 1) * rows for request in requests], np.int64)
    chosen = np.array(numbers, np.int64)
    order = chosen[np.argsort(lengths[chosen], kind="stable")]
    for batch in cut_by_budget(order, lengths, budget):
        yield batch.tolist()
