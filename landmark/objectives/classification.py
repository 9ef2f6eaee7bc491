"""Naming what is in an image: cross-entropy, of one class or of the two that were mixed.

Label smoothing: Szegedy et al. 2016, arXiv 1512.00567. Mixed images (Zhang et al. 2018, arXiv
1710.09412) count for both classes by their shares. Auxiliary heads (Szegedy et al. 2015, arXiv
1409.4842) learn the same, each by its network's weight.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.batch import ImageBatch
from landmark.metrics.classification import TOP, count_top
from landmark.models.image import ImageNetwork


@settings
class ClassificationConfig:
    """What is learnt."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of a class's probability to spread over all of them."""


class ClassificationObjective(Objective):
    """One player, one turn a batch; losses are summed over images.

    `frozen` parts stay as they are: their batch norms, too, use what they have measured before.
    """

    unit = "images"

    def __init__(
        self, model: ImageNetwork, config: ClassificationConfig, frozen: Sequence[nn.Module] = ()
    ) -> None:
        self.model, self.config, self.frozen = model, config, frozen
        self.players = {"model": model}
        self._extras: set[str] = set()

    @property
    def loss_includes(self) -> str:
        smoothing = self.config.label_smoothing
        parts = [f"label smoothing {smoothing:g}"] * bool(smoothing)
        return ", ".join([*parts, *sorted(self._extras)])

    def turns(self, batch: ImageBatch, step: int) -> Iterator[Turn]:
        for part in self.frozen:
            part.eval()
        loss, scores = self._classify(batch)
        right = float((scores.argmax(1) == batch.labels).sum())
        yield Turn(
            "model",
            loss,
            float(len(batch.labels)),
            {"accuracy": right},
            again=lambda: self._classify(batch)[0],
        )

    def _classify(self, batch: ImageBatch) -> tuple[Tensor, Tensor]:
        """The loss, auxiliary heads' included, and the scores. (B, K)"""
        first, *others = self.model.scores(in_layout(batch.images))
        if others:
            self._extras.add("auxiliary classifiers")
        if batch.partners is not None:
            self._extras.add("mixed images")
        loss = self._loss(first, batch)
        for auxiliary in others:
            loss = loss + self.model.auxiliary_weight * self._loss(auxiliary, batch)
        return loss, first.detach()

    def _loss(self, scores: Tensor, batch: ImageBatch) -> Tensor:
        """The sum over images. (B, K)"""
        smoothing = self.config.label_smoothing

        def losses(labels: Tensor) -> Tensor:
            return functional.cross_entropy(
                scores.float(), labels, reduction="none", label_smoothing=smoothing
            )

        own = losses(batch.labels)
        if batch.partners is None or batch.shares is None:
            return own.sum()
        return (batch.shares * own + (1 - batch.shares) * losses(batch.partners)).sum()

    @torch.no_grad()
    def measure(self, batch: ImageBatch) -> Mapping[str, tuple[float, float]]:
        """The loss without smoothing, and the shares of images whose class is the first, or near.

        As percentages of accuracy are compared from run to run, so are these losses.
        """
        scores = self.model(in_layout(batch.images)).float()
        weight = float(len(batch.labels))
        loss = functional.cross_entropy(scores, batch.labels, reduction="sum")
        measured = {"loss": float(loss), "accuracy": float(count_top(scores, batch.labels, 1))}
        if scores.shape[1] > TOP:
            measured[f"top{TOP}"] = float(count_top(scores, batch.labels, TOP))
        return {name: (value, weight) for name, value in measured.items()}


def in_layout(images: Tensor) -> Tensor:
    """Channels last in memory, in which convolutions need no reordering on their way through."""
    return images.contiguous(memory_format=torch.channels_last)
