"""Whether a translation leads back: hypotheses ranked by what both directions make of them.

Yee et al. 2019, "Simple and Effective Noisy Channel Modeling for Neural Machine Translation", arXiv
1908.05731. A translation y of x has the score

    (log P(y|x) + λ log P(x|y)) / penalty(|y|)

where λ is the channel's weight. Departures: one model of both ways is both directions, there is no
language model, and hypotheses are ranked when the search has ended.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from landmark.data.translation.text_form import TextForm
from landmark.decoding.speaker import Hypothesis, penalize
from landmark.pipelines.translation.scoring import score_tokens

if TYPE_CHECKING:
    from landmark.pipelines.translation.translation import TranslationPipeline


def rank_by_channel(
    pipeline: "TranslationPipeline",
    sources: Sequence[Sequence[int]],
    hypotheses: Sequence[Sequence[Hypothesis]],
    form: TextForm,
    weight: float,
    length_penalty: float,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source (tokens, after its tag), best first by both directions.

    form: the target language's. Their scores become those above; of several models the first one
    looks back.
    """
    tag, back = len(pipeline.tag(form)), pipeline.tag(pipeline.read_form(form))
    said = [hypothesis.tokens for found in hypotheses for hypothesis in found]
    # As the model would read them: it may have spelt a word in other pieces.
    read = pipeline.tokenizer.encode(pipeline.tokenizer.decode(said))
    longest = pipeline.max_length - 1
    left = [(back + tokens)[:longest] for tokens in read]
    right = [
        list(source[tag:]) for source, its in zip(sources, hypotheses, strict=True) for _ in its
    ]
    channel = iter(score_tokens(pipeline, left, right))
    return [
        sorted(
            (_scored(hypothesis, next(channel), weight, length_penalty) for hypothesis in found),
            key=lambda hypothesis: -hypothesis.score,
        )
        for found in hypotheses
    ]


def _scored(
    hypothesis: Hypothesis, channel: Sequence[float], weight: float, length_penalty: float
) -> Hypothesis:
    length = len(hypothesis.tokens) + hypothesis.ended  # </s> counts
    both = hypothesis.log_probability + weight * math.fsum(channel)
    return dataclasses.replace(hypothesis, score=both / penalize(length, length_penalty))
