"""Whether a translation leads back: hypotheses ranked by what both directions make of them.

Yee et al. 2019, "Simple and Effective Noisy Channel Modeling for Neural Machine Translation", arXiv
1908.05731. A translation y of x has the score

    (log P(y|x) + λ log P(x|y)) / penalty(|y|)

where λ is the channel's weight; P(x|y) is that of another run, or of the same model where it has
learnt both ways. Departures: there is no language model, and hypotheses are ranked when the search
has ended.
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
    back: "TranslationPipeline",
    texts: Sequence[str],
    hypotheses: Sequence[Sequence[Hypothesis]],
    form: TextForm,
    weight: float,
    length_penalty: float,
) -> list[list[Hypothesis]]:
    """The hypotheses of each text, best first by both directions, with the scores above.

    form: that of the language they are in. What is longer than `back` reads is cut there; where it
    is several models, the first one looks back.
    """
    origin = back.target_form(pipeline.read_form(form).language)
    # As text, and so as `back` would read it: a word may have been said in other pieces.
    said = pipeline.tokenizer.decode([its.tokens for found in hypotheses for its in found])
    if back.config.tokenizer.form != form.name:
        said = [back.read_form(origin).read(form.write(line)) for line in said]
    tag, longest = back.tag(origin), back.max_length - 1
    left = [(tag + tokens)[:longest] for tokens in back.tokenizer.encode(said)]
    wanted = back.tokenizer.encode_targets([origin.read(text) for text in texts])
    right = [
        tokens[:longest] for tokens, found in zip(wanted, hypotheses, strict=True) for _ in found
    ]
    channel = iter(score_tokens(back, left, right))
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
