"""Exposure bias of a translation run."""

import operator
from collections.abc import Sequence
from functools import reduce

from landmark.core.errors import UserError
from landmark.data.translation.parallel_text import Pair
from landmark.probes.exposure import Exposure, measure_exposure
from landmark.tasks.translation.pipeline import TranslationPipeline
from landmark.tasks.translation.scoring import batches_of_pairs, encode_pairs


def measure_pairs(pipeline: TranslationPipeline, given: Sequence[Pair]) -> tuple[Exposure, int]:
    """Right tokens by position, after the reference's words and after the model's own.

    Also how many pairs were left out because a side is longer than the model takes.
    """
    pairs = [pair for pair in given if _fits(pipeline, *pair)]
    if not pairs:
        raise UserError(f"{pipeline.run.folder}: no pair is short enough for the model")
    sources, targets = encode_pairs(pipeline, pairs, ("source", "target"))
    batches = (batch for _, batch in batches_of_pairs(pipeline, sources, targets))
    parts = (measure_exposure(pipeline.model, batch) for batch in batches)
    return reduce(operator.add, parts), len(given) - len(pairs)


def _fits(pipeline: TranslationPipeline, source: str, target: str) -> bool:
    (tokens,) = pipeline.tokenizer.encode_targets([pipeline.target_form().read(target)])
    return pipeline.fits(source) and len(tokens) < pipeline.config.model.max_length
