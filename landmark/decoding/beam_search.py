"""Beam search: keep the k likeliest beginnings of each sentence, and extend them together.

Hypotheses are ranked by score = log P(y) / penalty(|y|); see `penalize`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.decoding.speaker import Hypothesis, Speaker, SpeakerState, penalize


@settings
class SearchConfig:
    """How translations are looked for."""

    beam: Annotated[int, Field(ge=1)] = 4
    """Hypotheses kept for each sentence; 1 is greedy."""
    length_penalty: Annotated[float, Field(ge=0)] = 0.6
    """alpha: 0 prefers short translations, larger values longer ones."""
    max_ratio: Annotated[float, Field(gt=0)] = 2.0
    """Longest translation: this many times the source's tokens …"""
    max_extra: Annotated[int, Field(ge=1)] = 20
    """… and this many more."""

    def max_length(self, source_tokens: int) -> int:
        """The most tokens (with </s>) to say for a source of that length."""
        return int(self.max_ratio * source_tokens) + self.max_extra


@dataclass
class _Sentence:
    """One sentence's finished hypotheses and its limit."""

    limit: int
    finished: list[Hypothesis] = field(default_factory=list)


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
) -> list[list[Hypothesis]]:
    """Hypotheses of each sentence, best first: up to `beam`. The state has `beam` rows a sentence.

    A sentence is done when it has `beam` finished hypotheses or reaches its limit; it then leaves
    the batch.
    """
    sentences = [_Sentence(limit) for limit in max_lengths]
    active = list(range(len(sentences)))
    tokens = torch.full((len(active) * beam,), begin, device=device)
    # At first all rows of a sentence are the same: only the first may be extended.
    totals = torch.full((len(active), beam), -torch.inf, device=device)
    totals[:, 0] = 0.0
    said = torch.empty((len(active), beam, 0), dtype=torch.int64, device=device)
    length = 0
    while active:
        length += 1
        log_probabilities = speaker.step(tokens, state).log_softmax(-1)
        vocabulary = log_probabilities.shape[-1]
        extended = totals[:, :, None] + log_probabilities.view(len(active), beam, vocabulary)
        # 2k candidates: even if k of them end, k go on.
        best, flat = extended.flatten(1).topk(min(2 * beam, beam * vocabulary))  # (B, 2k)
        rows, words = flat // vocabulary, flat % vocabulary
        ended = words == end
        _collect(sentences, active, best, rows, ended, said, length, beam, length_penalty)
        # The k best that go on.
        totals, order = best.masked_fill(ended, -torch.inf).topk(beam)
        rows, words = rows.gather(1, order), words.gather(1, order)
        said = torch.cat(
            (said.gather(1, rows[:, :, None].expand(-1, -1, said.shape[2])), words[:, :, None]), 2
        )
        going = [
            place
            for place, number in enumerate(active)
            if not _close(
                sentences[number], totals[place], said[place], length, beam, length_penalty
            )
        ]
        if len(going) < len(active):
            keep = torch.tensor(going, dtype=torch.int64, device=device)
            state.select_sentences(keep)
            offsets = keep * beam
            totals, rows, words, said = totals[keep], rows[keep], words[keep], said[keep]
            active = [active[place] for place in going]
        else:
            offsets = torch.arange(len(active), device=device) * beam
        if active:
            state.select_rows((offsets[:, None] + rows).flatten())
        tokens = words.flatten()
    return [_ranked(sentence, beam) for sentence in sentences]


def _collect(
    sentences: list[_Sentence],
    active: list[int],
    best: Tensor,
    rows: Tensor,
    ended: Tensor,
    said: Tensor,
    length: int,
    beam: int,
    penalty: float,
) -> None:
    """Note hypotheses that ended among each sentence's k best candidates."""
    candidates = ended & (best > -torch.inf)
    candidates[:, beam:] = False
    for place, rank in candidates.nonzero().tolist():
        words = tuple(said[place, rows[place, rank]].tolist())
        total = best[place, rank].item()
        sentences[active[place]].finished.append(
            Hypothesis(words, total, total / penalize(length, penalty))
        )


def _close(
    sentence: _Sentence, totals: Tensor, said: Tensor, length: int, beam: int, penalty: float
) -> bool:
    """Whether a sentence is done; at its limit the unfinished hypotheses count as they are."""
    if len(sentence.finished) >= beam or bool((totals == -torch.inf).all()):
        return True
    if length < sentence.limit:
        return False
    for total, words in zip(totals.tolist(), said.tolist(), strict=True):
        if total > -float("inf"):
            score = total / penalize(length, penalty)
            sentence.finished.append(Hypothesis(tuple(words), total, score))
    return True


def _ranked(sentence: _Sentence, beam: int) -> list[Hypothesis]:
    return sorted(sentence.finished, key=lambda hypothesis: -hypothesis.score)[:beam]
