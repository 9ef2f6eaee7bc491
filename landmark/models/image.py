"""What all image classifiers have in common."""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError


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

    def maps(self, images: Tensor) -> Tensor:
        """The last spatial map, before it is pooled or flattened. (B, C, H, W) -> (B, F, H', W')

        Of networks that close their last convolution with pooling (AlexNet, VGG, plain), the map
        before it: VGG's conv5_3, which captioning reads (Xu et al. 2015, arXiv 1502.03044).
        """
        raise UserError(
            f"{type(self).__name__} has no spatial map: it reads all pixels at once; "
            "choose a convolutional network or a Vision Transformer"
        )

    def spatial(self, images: Tensor) -> Tensor:
        """The places of the last spatial map, row by row. (B, C, H, W) -> (B, S, F)

        A Vision Transformer's are its patches after the last norm, without the class token.
        """
        return self.maps(images).flatten(2).transpose(1, 2)

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
