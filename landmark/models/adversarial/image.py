"""What all generators and discriminators of images have in common."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings

Width = Annotated[int, Field(ge=1, le=4096)]
Side = Annotated[int, Field(ge=1, le=1024)]


@settings
class ImageGanConfig:
    """Size and colours of the images; each architecture's configuration adds its own."""

    image_size: Side | tuple[Side, Side] = 64
    """Image height and width in pixels: one number, or [height, width]."""
    channels: Literal[1, 3] = 3
    """Image channels: 3 for colour, 1 for greyscale."""
    low: ClassVar[float] = -1.0
    """What black is to the networks; white is 1."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        size = self.image_size
        return size if isinstance(size, tuple) else (size, size)


class ImageGenerator(nn.Module):
    """Noise (B, Z) to images (B, C, H, W) between black (`low` of its settings) and white, 1."""


class ImageDiscriminator(nn.Module):
    """Images (B, C, H, W) to the logit of being real (B, 1)."""

    @abstractmethod
    def features(self, images: Tensor) -> Tensor:
        """What the network has made of images by its last layers. (B, C, H, W) -> (B, F)"""
