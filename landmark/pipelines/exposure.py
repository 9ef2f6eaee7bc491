"""Exposure bias of a translation run on a split of its data."""

import operator
from functools import reduce

from landmark.core.errors import UserError
from landmark.pipelines.evaluation import split_pairs
from landmark.pipelines.scoring import batches_of_pairs, encode_pairs
from landmark.pipelines.translation import TranslationPipeline
from landmark.probes.exposure import Exposure, measure_exposure


def measure_split(pipeline: TranslationPipeline, split: str) -> tuple[Exposure, int]:
    """Right tokens by position, after the reference's words and after the model's own.

    Also how many pairs were left out because a side is longer than the model takes.
    """
    drawn = split_pairs(pipeline, split)
    pairs = [pair for pair in drawn if _fits(pipeline, *pair)]
    if not pairs:
        raise UserError(f"{pipeline.run.folder}: no pair of {split!r} is short enough")
    sources, targets = encode_pairs(pipeline, pairs, ("source", "target"))
    batches = (batch for _, batch in batches_of_pairs(pipeline, sources, targets))
    parts = (measure_exposure(pipeline.model, batch) for batch in batches)
    return reduce(operator.add, parts), len(drawn) - len(pairs)


def _fits(pipeline: TranslationPipeline, source: str, target: str) -> bool:
    (tokens,) = pipeline.tokenizer.encode([pipeline.target_form().read(target)])
    return pipeline.fits(source) and len(tokens) < pipeline.config.model.max_length
