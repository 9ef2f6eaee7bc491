"""Bag-of-words classification: cross-entropy."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from landmark.core.turn import Objective, Turn
from landmark.data.understanding.bag_of_words import BagBatch
from landmark.models.bag_of_words import BagOfWords


class BagOfWordsObjective(Objective):
    """One player, one turn a batch; losses are summed over texts."""

    unit = "examples"

    def __init__(self, model: BagOfWords) -> None:
        self.model = model
        self.players = {"model": model}

    def turns(self, batch: BagBatch, step: int) -> Iterator[Turn]:
        loss, right = self._loss(batch)
        yield Turn(
            "model",
            loss,
            float(len(batch.labels)),
            {"accuracy": right},
            again=lambda: self._loss(batch)[0],
        )

    @torch.no_grad()
    def measure(self, batch: BagBatch) -> Mapping[str, tuple[float, float]]:
        loss, right = self._loss(batch)
        weight = float(len(batch.labels))
        return {"loss": (float(loss), weight), "accuracy": (float(right), weight)}

    def _loss(self, batch: BagBatch) -> tuple[Tensor, Tensor]:
        """Summed over texts; and how many were named rightly."""
        scores = self.model(batch.words, batch.starts)
        right = (scores.argmax(1) == batch.labels).sum()
        return functional.cross_entropy(scores, batch.labels, reduction="sum"), right
