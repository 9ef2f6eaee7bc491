"""What all captioners have in common: an image network whose last spatial map is the source.

The places of that map, row by row, are to a captioner what tokens are to a translator. The image
network is frozen, and its places may then be computed once, or it is fine-tuned.
"""

from typing import Annotated, Any

from pydantic import Field
from torch import Tensor, nn

from landmark.core import limits
from landmark.core.configuration import default_key, settings
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.image import ImageNetwork
from landmark.models.vision import VisionConfig, build_network, lay_out
from landmark.models.writer import Writer

Size = Annotated[int, Field(ge=1)]
ENCODER = "encoder_network."
"""How names of the encoder's weights begin."""
Encoder = Annotated[
    VisionConfig, Field(discriminator="architecture"), default_key("architecture", "resnet-9")
]


@settings
class CaptionerConfig:
    """What a captioner reads and writes; each network's configuration adds its own."""

    vocab_size: Annotated[int, Field(ge=4, le=limits.VOCABULARY)] | None = None
    """Vocabulary size; null: the tokenizer's."""
    encoder: Encoder | None = ResNet9Config(image_size=96)
    """Image network whose last spatial map is read, with the settings that it has for
    classification; null: the places are given, `feature_size` numbers each.
    """
    feature_size: Size | None = None
    """Numbers of each place; null: the encoder's."""
    places: Size | None = None
    """Number of places of an image; null: the encoder's."""
    fine_tune: bool = False
    """Train the encoder, too; false: it is frozen, and its maps are computed once."""
    max_length: Size = 64
    """Maximum caption length in tokens."""


class Captioner(Writer):
    """A writer whose source is an image, or the places of its map."""

    encoder_network: ImageNetwork | None

    def add_encoder(self) -> None:
        """Make the image network, all but its head; frozen, unless it is to be fine-tuned."""
        config: Any = self.config
        self.encoder_network = None
        if config.encoder is not None:
            network = build_network(config.encoder)
            network.set_submodule(network.head, nn.Identity())  # classes are not asked for
            network.requires_grad_(config.fine_tune)
            self.encoder_network = lay_out(network)

    def train(self, mode: bool = True) -> "Captioner":
        """A frozen encoder stays as it is, its batch norms, too."""
        super().train(mode)
        if self.encoder_network is not None and not self.config.fine_tune:
            self.encoder_network.eval()
        return self

    def places_of(self, source: Tensor) -> Tensor:
        """The places of images, or the source if it is places already.

        (B, C, H, W) or (M, F) -> (M, F)
        """
        if source.dim() == 2:
            return source
        assert self.encoder_network is not None, "images are given, but there is no encoder"
        places: Tensor = self.encoder_network.spatial(source).flatten(0, 1)
        return places
