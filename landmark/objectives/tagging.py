"""Tagging: a network names several things in an image, each with a share of truth as its target.

`sigmoid`: binary cross-entropy of each tag, summed over tags. `softmax`: cross-entropy of one
distribution over all tags with the image's own, as Mahajan et al. 2018 (arXiv 1805.00932) learn
hashtags. What others have mixed into an image (mixup) counts for both by their shares.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.batch import ImageBatch
from landmark.models.image import ImageNetwork
from landmark.objectives.classification import in_layout


@settings
class TaggingConfig:
    """Training objective."""

    loss: Literal["sigmoid", "softmax"] = "sigmoid"
    """sigmoid: binary cross-entropy of each tag; softmax: cross-entropy over all tags, with an
    image's tags sharing the target.
    """


def tag_probabilities(scores: Tensor, config: TaggingConfig) -> Tensor:
    """How likely each tag is; by softmax, which share of an image's tags it is. (B, K)"""
    scores = scores.float()
    return scores.sigmoid() if config.loss == "sigmoid" else scores.softmax(1)


class TaggingObjective(Objective):
    """One player, one turn a batch; losses are summed over images."""

    unit = "images"

    def __init__(self, model: ImageNetwork, config: TaggingConfig) -> None:
        self.model, self.config = model, config
        self.players = {"model": model}

    def turns(self, batch: ImageBatch, step: int) -> Iterator[Turn]:
        weight = float(len(batch.labels))
        yield Turn("model", self._loss(batch), weight, again=lambda: self._loss(batch))

    def _loss(self, batch: ImageBatch) -> Tensor:
        """The sum over images, auxiliary heads' included."""
        targets = batch.labels
        if batch.partners is not None and batch.shares is not None:
            targets = torch.lerp(batch.partners, targets, batch.shares[:, None])
        first, *others = self.model.scores(in_layout(batch.images))
        loss = self.losses(first, targets).sum()
        for auxiliary in others:
            loss = loss + self.model.auxiliary_weight * self.losses(auxiliary, targets).sum()
        return loss

    def losses(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Of each image. (B, K), (B, K) -> (B,)"""
        scores = scores.float()
        if self.config.loss == "sigmoid":
            each = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
            return each.sum(1)
        total = targets.sum(1, keepdim=True)  # 0: an image without a tag teaches nothing
        shares = targets / torch.where(total > 0, total, 1.0)
        return -(shares * scores.log_softmax(1)).sum(1)

    @torch.no_grad()
    def measure(self, batch: ImageBatch) -> Mapping[str, tuple[float, float]]:
        scores = self.model(in_layout(batch.images))
        return {"loss": (float(self.losses(scores, batch.labels).sum()), float(len(batch.labels)))}
