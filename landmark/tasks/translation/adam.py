"""A small Transformer for Adam's race: what Adam is most used for, three years after its paper."""

import dataclasses

from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.models.transformer.translator import TransformerConfig
from landmark.optim.adam_paper import adam
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.translation.run import TranslationRun, on_embedded


@recipe(
    "race-transformer",
    system="adam",
    summary="a small Transformer on the embedded corpus (not in the paper)",
)
def race_transformer() -> TranslationRun:
    """Warm-up, then as 1 / sqrt(t); gradients are clipped for every method alike."""
    shape = TransformerConfig(
        hidden_size=64,
        inner_size=128,
        num_heads=4,
        encoder_layers=2,
        decoder_layers=2,
        dropout=0.0,
        norm="pre",
        max_length=256,
    )
    return dataclasses.replace(
        on_embedded(shape),
        data=ParallelTextConfig(corpus="embedded", train_pairs=20_000, valid_pairs=300),
        optimizer=adam(),
        schedule=ScheduleConfig(name="inverse-sqrt", rate=3e-3, warmup_steps=100),
    )
