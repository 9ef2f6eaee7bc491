"""One token after another without looking back: greedy choice, or sampling."""

from collections.abc import Callable, Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.decoding.speaker import Hypothesis, Speaker, SpeakerState, penalize

Chooser = Callable[[Tensor], Tensor]
"""Log-probabilities (R, V) to the tokens to say (R,)."""


@settings
class SamplingConfig:
    """How to draw the next token."""

    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Below 1 sharpens the distribution, above 1 flattens it."""
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Draw only from this many likeliest tokens."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Draw only from the likeliest tokens that together have this probability."""


def choose_greedily(log_probabilities: Tensor) -> Tensor:
    """The likeliest token."""
    return log_probabilities.argmax(-1)


def restrict(log_probabilities: Tensor, config: SamplingConfig) -> Tensor:
    """The distribution to sample from: temperature, then top-k, then top-p (nucleus), renormalised.

    Nucleus sampling: Holtzman et al. 2020, arXiv 1904.09751.
    """
    logits = log_probabilities / config.temperature
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


def sampler(config: SamplingConfig, generator: torch.Generator | None = None) -> Chooser:
    """A chooser that draws from the restricted distribution."""

    def choose(log_probabilities: Tensor) -> Tensor:
        return torch.multinomial(restrict(log_probabilities, config), 1, generator=generator)[:, 0]

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
) -> list[Hypothesis]:
    """Speak each sentence to its end token or its limit; finished ones leave the batch."""
    count = len(max_lengths)
    limits = torch.tensor(max_lengths, device=device)
    said: list[list[int]] = [[] for _ in range(count)]
    totals, lengths = [0.0] * count, [0] * count
    active = torch.arange(count, device=device)
    tokens = torch.full((count,), begin, device=device)
    length = 0
    while len(active):
        length += 1
        log_probabilities = speaker.step(tokens, state).log_softmax(-1)
        tokens = choose(log_probabilities)
        gained = log_probabilities.gather(1, tokens[:, None])[:, 0]
        for sentence, token, gain in zip(
            active.tolist(), tokens.tolist(), gained.tolist(), strict=True
        ):
            totals[sentence] += gain
            lengths[sentence] = length
            if token != end:
                said[sentence].append(token)
        going = ((tokens != end) & (limits[active] > length)).nonzero()[:, 0]
        if len(going) < len(active):
            active, tokens = active[going], tokens[going]
            state.select_rows(going)
            state.select_sentences(going)
    return [
        Hypothesis(tuple(words), total, total / penalize(length, length_penalty))
        for words, total, length in zip(said, totals, lengths, strict=True)
    ]
