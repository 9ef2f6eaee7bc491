"""A Transformer's decoder that describes images: the places of a map are its memory.

The decoder is the translator's (Vaswani et al. 2017, arXiv 1706.03762). Places are projected to
its width and get learned positions; blocks that read them may come before those that write.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.attention import check_heads
from landmark.layers.feedforward import ActivationName
from landmark.layers.packing import Packing
from landmark.layers.position import SinusoidalPosition
from landmark.models.captioning.captioner import Captioner, CaptionerConfig, Size
from landmark.models.transformer.writer import TransformerWriter


@settings
class CaptionTransformerConfig(CaptionerConfig):
    """Configuration of a Transformer that describes images."""

    architecture: Literal["caption-transformer"] = "caption-transformer"
    """Network architecture."""
    hidden_size: Size = 256
    """Dimension of the hidden states (d_model)."""
    inner_size: Size = 1024
    """Dimension of the feed-forward layers (d_ff)."""
    num_heads: Size = 4
    """Number of attention heads; must divide hidden_size."""
    encoder_layers: Annotated[int, Field(ge=0)] = 0
    """Number of layers over the places of the image."""
    decoder_layers: Size = 3
    """Number of decoder layers."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.3
    """Dropout probability after the embedding and each sub-layer."""
    word_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Word dropout: probability of dropping a token's whole embedding."""
    norm: Literal["post", "pre"] = "pre"
    """post: layer norm after each residual connection (the paper's); pre: before each sub-layer."""
    activation: ActivationName = "relu"
    """Activation of the feed-forward layers."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory, at about a third more compute."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "CaptionTransformerConfig":
        check_heads(self.num_heads, self.hidden_size)
        return self


class CaptionTransformer(TransformerWriter, Captioner):
    """An image's places in, words out, by attention throughout."""

    def __init__(self, config: CaptionTransformerConfig) -> None:
        super().__init__()
        self.config = config
        if config.feature_size is None or config.places is None:
            raise ValueError("model.feature_size and model.places are not set")
        self.add_encoder()
        self.add_target(config.vocab_size, config.hidden_size, tied=True)
        self.position = SinusoidalPosition(config.max_length, config.hidden_size)
        self.add_blocks()
        self.project = nn.Linear(config.feature_size, config.hidden_size)
        self.place = nn.Embedding(config.places, config.hidden_size)
        nn.init.normal_(self.place.weight, std=0.02)

    def embed_source(self, source: Tensor, packing: Packing) -> Tensor:
        placed = self.project(self.places_of(source)) + self.place(packing.positions)
        embedded: Tensor = self.dropout(placed)
        return embedded
