"""Engines that search what a writer says: requests in, hypotheses out. PyTorch's is here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from landmark.core.errors import UserError
from landmark.core.runtime import Precision, autocast, derive_seed
from landmark.data.ordering import cut_by_budget
from landmark.data.translation.pairs import pack_sources
from landmark.decoding.blocking import Blocking
from landmark.decoding.ensemble import Ensemble, EnsembleState
from landmark.decoding.request import Request
from landmark.decoding.search import Search, rows_needed
from landmark.decoding.speaker import Hypothesis, Speaker
from landmark.decoding.stepwise import SamplingConfig
from landmark.layers.packing import Packing
from landmark.models.writer import Writer
from landmark.tasks.search_options import SEARCH_TOKENS, SearchOptions


@dataclass(frozen=True)
class Decoding:
    """What holds for searching and sampling alike."""

    blocking: Blocking | None = None
    batch_tokens: int = SEARCH_TOKENS
    """Maximum number of source tokens times hypotheses in a batch; a longer sentence is a batch of
    its own.
    """


PLAIN = Decoding()
Pack = Callable[[Sequence[Any]], tuple[torch.Tensor, Packing]]
"""The sources of requests as the networks read them; if none is given, they are sentences."""


@dataclass(frozen=True)
class SourceRequest(Request):
    """A request for what is to be written of a source."""

    source: Any = ()
    """The tokens of a sentence, without </s>, or an image (C, H, W)."""
    size: int | None = None
    """Rows that the network reads of it; None: as many as it has, and one more for </s>."""


class UsualSearch(Protocol):
    """A recipe's settings of searches."""

    @property
    def beam(self) -> int: ...

    @property
    def length_penalty(self) -> float: ...


class Engine(Protocol):
    """Anything that can write what requests ask for."""

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

    Requests with phrases are searched apart, in a beam as wide as the phrases need. `suppressed`
    tokens are never said.
    """

    def __init__(
        self,
        models: Writer | Sequence[Writer],
        begin: int,
        end: int,
        device: torch.device,
        precision: Precision = "fp32",
        *,
        pack: Pack | None = None,
        suppressed: Sequence[int] = (),
    ) -> None:
        self.models = [models] if isinstance(models, Writer) else list(models)
        sizes = {model.config.vocab_size or 0 for model in self.models}
        if len(sizes) != 1:
            raise ValueError(f"an ensemble needs models of one vocabulary, not {sorted(sizes)}")
        speaker: Speaker = self.models[0] if len(self.models) == 1 else Ensemble(self.models)
        self._search = Search(_Whole(speaker, suppressed), begin, end, device)
        self.device, self.precision = device, precision
        self.pack = pack or partial(pack_sources, end=end)

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
        packed, packing = self.pack([request.source for request in batch])
        longest = max(request.limit for request in batch)
        source, packing = packed.to(self.device), packing.to(self.device)
        states = [model.start(source, packing, rows, longest) for model in self.models]
        return states[0] if len(states) == 1 else EnsembleState(states)


class _Whole:
    """A speaker whose logits are in single precision, without tokens that are never said."""

    def __init__(self, speaker: Speaker, suppressed: Sequence[int]) -> None:
        self.speaker, self.suppressed = speaker, list(suppressed)

    def step(self, tokens: torch.Tensor, state: Any) -> torch.Tensor:
        logits = self.speaker.step(tokens, state).float()
        if self.suppressed:
            logits[:, self.suppressed] = -torch.inf
        return logits


def batches_of(
    requests: Sequence[SourceRequest],
    numbers: Sequence[int],
    rows: int,
    budget: int = SEARCH_TOKENS,
) -> Iterator[list[int]]:
    """These numbers of requests in batches of like length; `rows`: hypotheses of each."""
    sizes = [request.size or len(request.source) + 1 for request in requests]
    lengths = np.array(sizes, np.int64) * rows
    chosen = np.array(numbers, np.int64)
    order = chosen[np.argsort(lengths[chosen], kind="stable")]
    for batch in cut_by_budget(order, lengths, budget):
        yield batch.tolist()


def search_or_sample(
    engine: Engine,
    requests: Sequence[SourceRequest],
    numbers: Sequence[tuple[int, ...]],
    usual: UsualSearch,
    options: SearchOptions,
) -> list[list[Hypothesis]]:
    """What the options ask for, best first; where they say nothing, as the recipe has it.

    numbers: of the inputs, which draws depend on.
    """
    penalty, decoding = usual.length_penalty, decoding_of(options)
    if options.length_penalty is not None:
        penalty = options.length_penalty
    if not options.sample:
        return engine.search(requests, beam_of(usual.beam, options), penalty, decoding)
    seed = 1 if options.seed is None else options.seed
    seeds = [derive_seed(seed, "draw", *number) for number in numbers]
    sampling = sampling_config(options)
    return engine.sample(requests, seeds, options.n_best, sampling, penalty, decoding)


def beam_of(usual: int, options: SearchOptions) -> int:
    """The beam of the options or of the recipe; one as wide as the outputs asked for."""
    beam = max(usual, options.n_best) if options.beam is None else options.beam
    if beam == 1 and options.length_penalty is not None and not options.is_guided:
        raise UserError("--length-penalty ranks hypotheses, and a beam of 1 keeps one: widen it")
    return beam


def sampling_config(options: SearchOptions) -> SamplingConfig:
    """How tokens are drawn."""
    temperature = 1.0 if options.temperature is None else options.temperature
    return SamplingConfig(temperature=temperature, top_k=options.top_k, top_p=options.top_p)


def decoding_of(options: SearchOptions) -> Decoding:
    """What may not be said, and how much is searched at a time."""
    blocking = None
    if options.no_repeat_ngram or options.min_length:
        blocking = Blocking(options.no_repeat_ngram, options.min_length)
    return Decoding(blocking, options.batch_size)
