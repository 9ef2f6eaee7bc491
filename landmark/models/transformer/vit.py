"""The Vision Transformer: an image is read as a sequence of square patches.

Dosovitskiy et al. 2020, "An Image Is Worth 16x16 Words: Transformers for Image Recognition at
Scale", arXiv 2010.11929: pre-norm with an epsilon of 1e-6, exact GELU, a class token, learned
positions. Ti and S are DeiT's sizes (Touvron et al. 2020, arXiv 2012.12877). Departures: dropout
is after each sub-layer, not inside the feed-forward network too; the mean of all patches in place
of the class token (the paper's appendix D.3) is a setting.
"""

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.layers.attention import check_heads
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.layers.transformer import EncoderBlock, run_block
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
_EPSILON = 1e-6
_SPREAD = 0.02  # standard deviation of fresh positions


@settings
class ViTConfig(ImageNetworkConfig):
    """Configuration of a Vision Transformer."""

    architecture: Literal["vit"] = "vit"
    """Network architecture."""
    patch_size: Size = 16
    """Patch height and width in pixels; must divide image_size."""
    hidden_size: Size = 768
    """Dimension of the hidden states."""
    inner_size: Size | None = None
    """Dimension of the feed-forward layers; null: 4 * hidden_size."""
    num_heads: Size = 12
    """Number of attention heads; must divide hidden_size."""
    num_layers: Size = 12
    """Number of layers."""
    pool: Literal["token", "mean"] = "token"
    """What the classifier reads: the class token, or the mean of the patch tokens."""
    dropout: Share = 0.0
    """Dropout probability after the embedding and each sub-layer."""
    attention_dropout: Share = 0.0
    """Dropout probability on the attention weights."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory, at about a third more compute."""

    @model_validator(mode="after")
    def _parts_divide_the_whole(self) -> "ViTConfig":
        check_heads(self.num_heads, self.hidden_size)
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size {self.patch_size} does not divide image_size {self.image_size}; "
                f"the smallest image has {self.patch_size} pixels a side, others multiples of it"
            )
        return self


VARIANTS = {
    "vit-ti16": ViTConfig(hidden_size=192, num_heads=3),
    "vit-s16": ViTConfig(hidden_size=384, num_heads=6),
    "vit-b16": ViTConfig(),
    "vit-b32": ViTConfig(patch_size=32),
    "vit-l16": ViTConfig(hidden_size=1024, num_heads=16, num_layers=24),
    "vit-l32": ViTConfig(patch_size=32, hidden_size=1024, num_heads=16, num_layers=24),
    "vit-h14": ViTConfig(patch_size=14, hidden_size=1280, num_heads=16, num_layers=32),
}


class ViT(ImageNetwork):
    """Patches in, each with its place; what is read off after all blocks names the image."""

    head = "classifier"

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.embedding = PatchEmbedding(config)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                width,
                config.inner_size or 4 * width,
                config.num_heads,
                config.dropout,
                pre_norm=True,
                attention_dropout=config.attention_dropout,
                activation="gelu",
                epsilon=_EPSILON,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(width, _EPSILON)
        self.classifier = nn.Linear(width, config.classes)
        # As the paper's code: what a new head says is at first the same for every image.
        nn.init.zeros_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, D)"""
        states = self.norm(self.read(images))  # (B, T, D)
        pooled: Tensor = states[:, 0] if self.config.pool == "token" else states.mean(1)
        return pooled

    def maps(self, images: Tensor) -> Tensor:
        """The patches after the last norm, without the class token. -> (B, D, H / P, W / P)"""
        rows = images.shape[2] // self.config.patch_size
        states = self.norm(self.read(images))[:, int(self.embedding.has_token) :]
        patches: Tensor = states.transpose(1, 2).unflatten(2, (rows, -1))
        return patches

    def read(self, images: Tensor) -> Tensor:
        """The state of the class token, if there is one, and of each patch. -> (B, T, D)"""
        embedded: Tensor = self.embedding(images)
        batch, time, width = embedded.shape
        packing = Packing.full(batch, time, embedded.device)
        x = embedded.reshape(batch * time, width)
        for block in self.blocks:
            x = run_block(block, self.config.activation_checkpointing, x, packing)
        return x.view(batch, time, width)

    def stages(self) -> list[nn.Module]:
        return [self.embedding, *self.blocks, self.norm]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, ViTConfig)
        return config.patch_size


class PatchEmbedding(nn.Module):
    """Equation 1: patches through one matrix, the class token before them, positions added."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.patch_size, width = config.patch_size, config.hidden_size
        self.has_token = config.pool == "token"
        self.projection = nn.Conv2d(config.channels, width, config.patch_size, config.patch_size)
        self.token = nn.Parameter(torch.zeros(1, 1, width)) if self.has_token else None
        places = (config.image_size // config.patch_size) ** 2 + self.has_token
        self.position = nn.Parameter(torch.empty(1, places, width))
        self.dropout = Dropout(config.dropout)
        nn.init.normal_(self.position, std=_SPREAD)
        # As every other matrix of the paper's code, by its inputs; they are a whole patch here.
        spread = math.sqrt(1 / (config.channels * config.patch_size**2))
        nn.init.trunc_normal_(self.projection.weight, std=spread, a=-2 * spread, b=2 * spread)
        nn.init.zeros_(self.projection.bias)  # type: ignore[arg-type]

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, T, D), the patches row by row."""
        height, width = images.shape[2:]
        if height % self.patch_size or width % self.patch_size or not height * width:
            raise UserError(
                f"images of {height}x{width} pixels: each side must be a multiple of the patch "
                f"size, {self.patch_size}; resize them"
            )
        grid = self.projection(images)  # (B, D, H/P, W/P)
        patches = grid.flatten(2).transpose(1, 2)  # (B, T, D)
        if self.token is not None:
            patches = torch.cat((self.token.expand(len(patches), -1, -1), patches), 1)
        shape = (height // self.patch_size, width // self.patch_size)
        embedded: Tensor = self.dropout(patches + self.positions(*shape))
        return embedded

    def positions(self, rows: int, columns: int) -> Tensor:
        """The positions for a grid of patches; another than the trained one is interpolated."""
        return resize_positions(self.position, rows, columns, int(self.has_token))


def resize_positions(table: Tensor, rows: int, columns: int, tokens: int = 1) -> Tensor:
    """Trained positions of a square grid for another grid, by 2-D interpolation (section 3.2).

    The first `tokens` stand for no patch and stay as they are. (1, T, D) -> (1, T', D)
    """
    side = math.isqrt(table.shape[1] - tokens)
    if (rows, columns) == (side, side):
        return table
    kept, grid = table[:, :tokens], table[:, tokens:]
    square = grid.transpose(1, 2).unflatten(2, (side, side))  # (1, D, side, side)
    # Corners on corners and bilinear, as the paper's code has it.
    resized = F.interpolate(square, (rows, columns), mode="bilinear", align_corners=True)
    return torch.cat((kept, resized.flatten(2).transpose(1, 2)), 1)
