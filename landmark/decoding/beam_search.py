"""Beam search: keep the k likeliest beginnings of each sentence, and extend them together.

Hypotheses are ranked by score = log P(y) / penalty(|y|); see `penalize`.
"""

from collections.abc import Sequence
from typing import Annotated, Protocol

import torch
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.decoding.blocking import Blocking
from landmark.decoding.extension import Extensions, keep_in_place, likeliest
from landmark.decoding.prefix import Prefixes
from landmark.decoding.speaker import Hypothesis, Speaker, SpeakerState, penalize


@settings
class SearchConfig:
    """How outputs are searched."""

    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] = 4
    """Beam size; 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0)] = 0.6
    """Exponent of the length penalty: 0 prefers short outputs, larger values longer ones."""
    max_ratio: Annotated[float, Field(gt=0, le=1000)] = 2.0
    """Maximum output length as a multiple of the input length …"""
    max_extra: Annotated[int, Field(ge=1, le=limits.LENGTH)] = 20
    """… plus this many tokens."""

    def max_length(self, input_length: int) -> int:
        """The most tokens (with </s>) to say for an input of that length."""
        return int(self.max_ratio * input_length) + self.max_extra


class Guide(Protocol):
    """What a search prefers: plain likelihood, or hypotheses that get on with their phrases."""

    def extend(self, totals: Tensor, log_probabilities: Tensor, length: int) -> Extensions:
        """Candidates of the next step in order of preference. (B, K), (B * K, V) -> (B, N)"""

    def follow(self, chosen: Extensions) -> None:
        """Note the hypotheses that go on, K a sentence."""

    def keep(self, sentences: Tensor) -> None:
        """Forget all but these sentences."""


class Likelihood:
    """Prefer what is likeliest."""

    def __init__(self, beam: int) -> None:
        self.beam = beam

    def extend(self, totals: Tensor, log_probabilities: Tensor, length: int) -> Extensions:
        # 2k candidates: even if k of them end, k go on.
        return likeliest(totals, log_probabilities, 2 * self.beam)

    def follow(self, chosen: Extensions) -> None:
        pass

    def keep(self, sentences: Tensor) -> None:
        pass


@torch.inference_mode()
def beam_search(
    speaker: Speaker,
    state: SpeakerState,
    max_lengths: Sequence[int],
    begin: int,
    end: int,
    beam: int,
    length_penalty: float,
    device: torch.device | None = None,
    prefixes: Prefixes | None = None,
    guide: Guide | None = None,
    blocking: Blocking | None = None,
) -> list[list[Hypothesis]]:
    """Hypotheses of each sentence, best first: up to `beam`. The state has `beam` rows a sentence.

    A sentence is done when it has `beam` finished hypotheses or reaches its limit; it then leaves
    the batch.
    """
    found = _Found(max_lengths, beam, length_penalty, device)
    guide = guide or Likelihood(beam)
    batch = len(max_lengths)
    tokens = torch.full((batch * beam,), begin, device=device)
    # At first all rows of a sentence are the same: only the first may be extended.
    totals = torch.full((batch, beam), -torch.inf, device=device)
    totals[:, 0] = 0.0
    said = torch.empty((batch, beam, 0), dtype=torch.int64, device=device)
    length = 0
    while len(totals):
        length += 1
        log_probabilities = speaker.step(tokens, state).log_softmax(-1)
        allowed = log_probabilities
        if blocking:
            allowed = blocking.apply(allowed, said.flatten(0, 1), length - 1, end)
        extensions = guide.extend(totals, allowed, length)
        if prefixes and (forced := prefixes.at(length, found.active)):
            extensions = _force(extensions, *forced, totals, log_probabilities)
        ended = extensions.words == end
        found.note(ended[:, :beam], extensions.totals, extensions.rows, said, length, True)
        chosen = _going_on(extensions, ended, beam)
        guide.follow(chosen)
        said = _say(said, chosen)
        going = found.close(chosen.totals, said, length)
        first = torch.arange(len(said), device=device) * beam
        if len(going) < len(said):
            state.select_sentences(going)
            guide.keep(going)
            first, said, chosen = first[going], said[going], chosen.keep(going)
        if len(going):
            state.select_rows((first[:, None] + chosen.rows).flatten())
        tokens, totals = chosen.words.flatten(), chosen.totals
    return found.ranked()


def _force(
    extensions: Extensions,
    tokens: Tensor,
    forced: Tensor,
    totals: Tensor,
    log_probabilities: Tensor,
) -> Extensions:
    """The extensions with one candidate only, the forced token, where there is one.

    Until its prefix is said, a sentence's first hypothesis is its only one.
    """
    beam = totals.shape[1]
    gained = log_probabilities[::beam].gather(1, tokens[:, None])[:, 0]
    best = extensions.totals.masked_fill(forced[:, None], -torch.inf)
    best[:, 0] = torch.where(forced, totals[:, 0] + gained, best[:, 0])
    rows = extensions.rows.masked_fill(forced[:, None], 0)
    return Extensions(best, rows, torch.where(forced[:, None], tokens[:, None], extensions.words))


def _going_on(extensions: Extensions, ended: Tensor, beam: int) -> Extensions:
    """The first `beam` candidates that do not end; -inf where there are fewer."""
    order = ended.to(torch.uint8).argsort(dim=1, stable=True)[:, :beam]
    chosen = extensions.pick(order)
    chosen.totals.masked_fill_(ended.gather(1, order), -torch.inf)
    return chosen


def _say(said: Tensor, chosen: Extensions) -> Tensor:
    """What the chosen hypotheses have said. (B, K, T) -> (B, K, T + 1)"""
    before = said.gather(1, chosen.rows[:, :, None].expand(-1, -1, said.shape[2]))
    return torch.cat((before, chosen.words[:, :, None]), 2)


class _Found:
    """Finished hypotheses of all sentences, and which sentences are still active."""

    def __init__(
        self, limits: Sequence[int], beam: int, penalty: float, device: torch.device | None
    ) -> None:
        self.beam, self.penalty = beam, penalty
        self.finished: list[list[Hypothesis]] = [[] for _ in limits]
        self.active = torch.arange(len(limits), device=device)
        self._limits = torch.tensor(limits, dtype=torch.int64, device=device)
        self._counts = torch.zeros_like(self._limits)

    def note(
        self,
        finished: Tensor,
        totals: Tensor,
        rows: Tensor,
        said: Tensor,
        length: int,
        ended: bool,
    ) -> None:
        """Note candidates that are finished: their totals, and whose words they end. (B, M)

        ended: whether by </s>; else they are cut.
        """
        finished = finished & (totals[:, : finished.shape[1]] > -torch.inf)
        places, ranks = finished.nonzero(as_tuple=True)
        self._counts += finished.sum(1)
        words = said[places, rows[places, ranks]].tolist()
        divisor = penalize(length, self.penalty)
        for number, its, total in zip(
            self.active[places].tolist(), words, totals[places, ranks].tolist(), strict=True
        ):
            self.finished[number].append(Hypothesis(tuple(its), total, total / divisor, ended))

    def close(self, totals: Tensor, said: Tensor, length: int) -> Tensor:
        """Drop sentences that are done; returns the places of the others.

        At its limit a sentence's unfinished hypotheses count as they are.
        """
        done = (self._counts >= self.beam) | (totals == -torch.inf).all(1)
        cut = (self._limits <= length) & ~done
        if cut.any():
            rows = torch.arange(self.beam, device=totals.device).expand_as(totals)
            self.note(cut[:, None].expand_as(totals), totals, rows, said, length, False)
        going = keep_in_place(~(done | cut))
        self.active, self._limits = self.active[going], self._limits[going]
        self._counts = self._counts[going]
        return going

    def ranked(self) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first."""
        return [
            sorted(finished, key=lambda hypothesis: -hypothesis.score)[: self.beam]
            for finished in self.finished
        ]
