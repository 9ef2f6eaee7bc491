"""Exposure bias of a translation run on a split of its data."""

import numpy as np

from landmark.core.errors import UserError
from landmark.data.pairs import collate_pairs, cut_by_budget
from landmark.pipelines.engine import BATCH_TOKENS
from landmark.pipelines.evaluation import split_pairs
from landmark.pipelines.scoring import encode_pairs
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
    costs = np.array([max(len(a), len(b)) + 1 for a, b in zip(sources, targets, strict=True)])
    parts = []
    for numbers in cut_by_budget(np.argsort(costs, kind="stable"), costs, BATCH_TOKENS):
        batch = collate_pairs(
            [sources[number] for number in numbers],
            [targets[number] for number in numbers],
            pipeline.tokenizer.begin,
            pipeline.tokenizer.end,
        ).to(pipeline.device)
        parts.append(measure_exposure(pipeline.model, batch))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total, len(drawn) - len(pairs)


def _fits(pipeline: TranslationPipeline, source: str, target: str) -> bool:
    (tokens,) = pipeline.tokenizer.encode([pipeline.target_form().read(target)])
    return pipeline.fits(source) and len(tokens) < pipeline.config.model.max_length
