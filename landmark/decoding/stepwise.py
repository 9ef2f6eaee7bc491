"""Greedy search and sampling, token by token."""

from collections.abc import Callable, Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.limits import COLDEST
from landmark.decoding.blocking import Blocking
from landmark.decoding.extension import keep_in_place
from landmark.decoding.prefix import Prefixes
from landmark.decoding.speaker import Hypothesis, Speaker, SpeakerState, penalize

Chooser = Callable[[Tensor, Tensor, int], Tensor]
"""Log-probabilities (R, V), the rows' numbers (R,) and the step (from 1) to tokens to say (R,)."""


@settings
class SamplingConfig:
    """How to draw the next token."""

    temperature: Annotated[float, Field(ge=COLDEST)] = 1.0
    """Sampling temperature: below 1 sharpens the distribution, above 1 flattens it."""
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Sample from the k most probable tokens only."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling: sample from the most probable tokens whose probabilities add up to p."""


def choose_greedily(log_probabilities: Tensor, numbers: Tensor, step: int) -> Tensor:
    """The likeliest token."""
    if log_probabilities.device.type == "cpu":  # numpy finds it in a tenth of torch's time
        return torch.from_numpy(log_probabilities.numpy().argmax(-1))
    return log_probabilities.argmax(-1)


def penalize_repetition(logits: Tensor, is_said: Tensor, penalty: float) -> Tensor:
    """Logits of tokens that were read or said before, nearer to unlikely by a factor. (R, V)

    Keskar et al. 2019 (CTRL), arXiv 1909.05858, section 4.1, with negative logits multiplied, as
    all implementations have it: divided, they would become likelier.
    """
    penalized = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(is_said, penalized, logits)


def restrict(log_probabilities: Tensor, config: SamplingConfig) -> Tensor:
    """The distribution to sample from: temperature, then top-k, then top-p (nucleus), renormalised.

    Nucleus sampling: Holtzman et al. 2020, arXiv 1904.09751.
    """
    highest = log_probabilities.amax(-1, keepdim=True)
    logits = (log_probabilities - highest) / config.temperature  # one stays 0, however cold it is
    if config.top_k is not None and config.top_k < logits.shape[-1]:
        least = logits.topk(config.top_k).values[..., -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if config.top_p is not None:
        ordered, order = logits.softmax(-1).sort(descending=True)
        before = ordered.cumsum(-1) - ordered
        beyond = torch.zeros_like(logits, dtype=torch.bool).scatter(
            -1, order, before >= config.top_p
        )
        logits = logits.masked_fill(beyond, -torch.inf)
    return logits.softmax(-1)


def sampler(config: SamplingConfig, uniform: Tensor) -> Chooser:
    """A chooser that draws from the restricted distribution.

    uniform: numbers in [0, 1), one for each row and step, which alone decide its draw. (R, L)
    """

    def choose(log_probabilities: Tensor, numbers: Tensor, step: int) -> Tensor:
        shares = restrict(log_probabilities, config).cumsum(-1)
        # Just past u of the way: a token of probability 0 is never met.
        point = uniform[numbers, step - 1, None] * shares[:, -1:]
        return torch.searchsorted(shares, point, right=True)[:, 0]

    return choose


@torch.inference_mode()
def decode_stepwise(
    speaker: Speaker,
    state: SpeakerState,
    max_lengths: Sequence[int],
    begin: int,
    end: int,
    choose: Chooser = choose_greedily,
    length_penalty: float = 0.0,
    device: torch.device | None = None,
    prefixes: Prefixes | None = None,
    blocking: Blocking | None = None,
) -> list[Hypothesis]:
    """Speak each sentence to its end token or its limit; finished ones leave the batch."""
    count = len(max_lengths)
    limits = torch.tensor(max_lengths, dtype=torch.int64, device=device)
    said = torch.full((count, max(max_lengths, default=0)), end, device=device)
    totals = torch.zeros(count, dtype=torch.float64, device=device)
    active = torch.arange(count, device=device)
    tokens = torch.full((count,), begin, device=device)
    length = 0
    while len(active):
        length += 1
        log_probabilities = speaker.step(tokens, state).log_softmax(-1)
        allowed = log_probabilities
        if blocking:
            allowed = blocking.apply(allowed, said[active, : length - 1], length - 1, end)
        tokens = choose(allowed, active, length)
        if prefixes and (forced := prefixes.at(length, active)):
            tokens = torch.where(forced[1], forced[0], tokens)
        totals[active] += log_probabilities.gather(1, tokens[:, None])[:, 0].double()
        said[active, length - 1] = tokens
        is_going = (tokens != end) & (limits[active] > length)
        if not is_going.all():
            going = keep_in_place(is_going)
            active, tokens = active[going], tokens[going]
            state.select_rows(going)
            state.select_sentences(going)
    return [
        _hypothesis(words[:limit], total, end, length_penalty)
        for words, total, limit in zip(said.tolist(), totals.tolist(), max_lengths, strict=True)
    ]


def _hypothesis(words: list[int], total: float, end: int, penalty: float) -> Hypothesis:
    """What was said up to the end token or the limit."""
    ended = end in words
    spoken = words.index(end) if ended else len(words)
    score = total / penalize(spoken + ended, penalty)
    return Hypothesis(tuple(words[:spoken]), total, score, ended)
