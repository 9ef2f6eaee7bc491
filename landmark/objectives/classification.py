"""Image classification: cross-entropy with one class, or the two classes of a mixed image.

Label smoothing: Szegedy et al. 2016, arXiv 1512.00567. Mixed images (Zhang et al. 2018, arXiv
1710.09412) count for both classes by their shares. Auxiliary heads (Szegedy et al. 2015, arXiv
1409.4842) learn the same, each by its network's weight.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.turn import Objective, Turn
from landmark.data.batch import ImageBatch
from landmark.metrics.classification import TOP, count_top
from landmark.models.image import ImageNetwork


@settings
class ClassificationConfig:
    """Training objective."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Label smoothing factor."""
    class_weights: tuple[float, ...] | str | None = None
    """Weight of each class in the loss: balanced (inversely proportional to its frequency) or a
    list in the order of the class names; null: 1 each.
    """

    @model_validator(mode="after")
    def _weights_are_positive(self) -> "ClassificationConfig":
        weights = self.class_weights
        if isinstance(weights, str) and weights != "balanced":
            raise ValueError(f"class_weights: balanced, or a list of numbers, not {weights!r}")
        if isinstance(weights, tuple) and not all(weight > 0 for weight in weights):
            raise ValueError("class_weights are above 0")
        return self


def weigh_classes(
    config: ClassificationConfig, labels: Tensor, names: Sequence[str]
) -> Tensor | None:
    """The weight of each class, by the labels of training; None where all count alike.

    Balanced, a class with n of N images counts N / (n * classes), one without images 1.
    """
    if config.class_weights is None:
        return None
    if not isinstance(config.class_weights, str):
        if len(config.class_weights) != len(names):
            raise UserError(
                f"objective.class_weights: {len(config.class_weights)} weights for {len(names)} "
                f"classes: {', '.join(names[:6])}{', …' if len(names) > 6 else ''}"
            )
        return torch.tensor(config.class_weights)
    counts = torch.bincount(labels, minlength=len(names))
    balanced = len(labels) / (counts.clamp(min=1) * int((counts > 0).sum()))
    return torch.where(counts > 0, balanced, 1.0)


class ClassificationObjective(Objective):
    """One player, one turn a batch; losses are summed over images.

    `frozen` parts stay as they are: their batch norms, too, use what they have measured before.
    `class_weights` (K,): how much each class's images count, in the loss and in training's
    accuracy; validation counts all images alike.
    """

    unit = "images"

    def __init__(
        self,
        model: ImageNetwork,
        config: ClassificationConfig,
        frozen: Sequence[nn.Module] = (),
        class_weights: Tensor | None = None,
    ) -> None:
        self.model, self.config, self.frozen = model, config, frozen
        self.class_weights = class_weights
        self.players = {"model": model}
        self._extras: set[str] = set()

    @property
    def loss_includes(self) -> str:
        smoothing = self.config.label_smoothing
        parts = [f"label smoothing {smoothing:g}"] * bool(smoothing)
        parts += ["class weights"] * (self.class_weights is not None)
        return ", ".join([*parts, *sorted(self._extras)])

    def turns(self, batch: ImageBatch, step: int) -> Iterator[Turn]:
        for part in self.frozen:
            part.eval()
        loss, scores = self._classify(batch)
        is_right, weights = scores.argmax(1) == batch.labels, self._weights(batch.labels)
        yield Turn(
            "model",
            loss,
            self._weight(batch),
            {"accuracy": float((is_right * weights).sum())},
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

        def losses(labels: Tensor) -> Tensor:
            return functional.cross_entropy(
                scores.float(),
                labels,
                self.class_weights,
                reduction="none",
                label_smoothing=self.config.label_smoothing,
            )

        return self._mixed(losses, batch).sum()

    def _weight(self, batch: ImageBatch) -> float:
        """What the sum of losses is divided by, as torch divides it."""
        if self.class_weights is None:
            return float(len(batch.labels))
        return float(self._mixed(self._weights, batch).sum())

    def _weights(self, labels: Tensor) -> Tensor:
        """How much an image of each class counts. (B,) -> (B,)"""
        return torch.ones_like(labels) if self.class_weights is None else self.class_weights[labels]

    def _mixed(self, values: Callable[[Tensor], Tensor], batch: ImageBatch) -> Tensor:
        """What `values` says of the classes of images; of mixed ones, of both by their shares."""
        own = values(batch.labels)
        if batch.partners is None or batch.shares is None:
            return own
        return batch.shares * own + (1 - batch.shares) * values(batch.partners)

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
