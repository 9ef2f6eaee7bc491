"""Teacher forcing: a writer predicts each next target token, with label smoothing."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.batch import WritingBatch
from landmark.decoding.scheduled_sampling import mix_in_own_words
from landmark.layers.projection import ProjectionLoss, projected_cross_entropy
from landmark.models.writer import Writer


@settings
class WritingConfig:
    """Training objective."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Label smoothing factor (paper: 0.1)."""
    scheduled_sampling: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Scheduled sampling: final fraction of decoder inputs that are the model's own predictions;
    0: off.
    """
    scheduled_sampling_steps: Annotated[int, Field(ge=1)] = 1
    """Scheduled sampling: steps over which that fraction increases linearly from 0."""


class WritingObjective(Objective):
    """One player, one turn a batch; losses are summed over target tokens."""

    def __init__(self, model: Writer, config: WritingConfig) -> None:
        self.model, self.config = model, config
        self.players = {"model": model}

    @property
    def loss_includes(self) -> str:
        smoothing = self.config.label_smoothing
        parts = [f"label smoothing {smoothing:g}"] * bool(smoothing)
        return ", ".join(parts + ["scheduled sampling"] * bool(self.config.scheduled_sampling))

    def turns(self, batch: WritingBatch, step: int) -> Iterator[Turn]:
        loss = self._loss(self.with_own_words(batch, step), self.config.label_smoothing)
        metrics = {"nll": loss.nll_sum, "accuracy": loss.correct}
        yield Turn("model", loss.loss_sum, batch.num_tokens, metrics)

    @torch.no_grad()
    def measure(self, batch: WritingBatch) -> Mapping[str, tuple[float, float]]:
        """Plain cross-entropy and the share of tokens guessed right."""
        loss = self._loss(batch, 0.0)
        count = batch.num_tokens
        return {"loss": (loss.nll_sum.item(), count), "accuracy": (loss.correct.item(), count)}

    def with_own_words(self, batch: WritingBatch, step: int) -> WritingBatch:
        """The batch as scheduled sampling has it at this step."""
        config, packing = self.config, batch.target_packing
        share = config.scheduled_sampling * min(1.0, step / config.scheduled_sampling_steps)
        if not share:
            return batch
        with torch.no_grad():
            state = self.model.start(batch.source, batch.source_packing, 1, packing.max_length)
        inputs = mix_in_own_words(self.model, state, batch.target, packing, share)
        return dataclasses.replace(batch, target=inputs)

    def _loss(self, batch: WritingBatch, smoothing: float) -> ProjectionLoss:
        hidden = self.model(batch.source, batch.source_packing, batch.target, batch.target_packing)
        output = self.model.output
        return projected_cross_entropy(hidden, output.weight, batch.labels, smoothing, output.bias)
