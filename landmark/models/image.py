"""What all image classifiers have in common."""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings


@settings
class ImageNetworkConfig:
    """Input and output of an image classifier; each network's configuration adds its own."""

    classes: Annotated[int, Field(ge=2)] = 1000
    """Number of classes."""
    channels: Annotated[int, Field(ge=1)] = 3
    """Image channels: 3 for colour, 1 for greyscale."""
    image_size: Annotated[int, Field(ge=1)] = 224
    """Image height and width in pixels."""


class ImageNetwork(nn.Module):
    """Images (B, C, H, W) to a score for each class (B, K), by way of features (B, F)."""

    head: str
    """Name of the last layer, which is replaced for new classes."""
    auxiliary_weight: ClassVar[float] = 0.0
    """Weight of the loss of each auxiliary classifier."""

    @abstractmethod
    def features(self, images: Tensor) -> Tensor:
        """What the last layer reads. (B, C, H, W) -> (B, F)"""

    def classify(self, features: Tensor) -> Tensor:
        """(B, F) -> (B, K)"""
        scores: Tensor = self.get_submodule(self.head)(features)
        return scores

    def forward(self, images: Tensor) -> Tensor:
        return self.classify(self.features(images))

    def scores(self, images: Tensor) -> tuple[Tensor, ...]:
        """For training: the scores, then those of each auxiliary head."""
        return (self(images),)

    @abstractmethod
    def stages(self) -> list[nn.Module]:
        """Its parts from below, for freezing and for rates that differ; all but the head."""

    def named_stages(self) -> dict[str, nn.Module]:
        """The stages by name, from below."""
        names = {id(module): name for name, module in self.named_modules()}
        return {names[id(stage)]: stage for stage in self.stages()}

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        """The fewest pixels a side of an image that comes through."""
        return 1
