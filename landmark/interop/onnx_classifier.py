"""An image network as one ONNX graph: images (B, C, S, S), normalised -> scores (B, K).

Batch norms are folded into the convolutions before them. The side S is the network's own; the
batch may be of any size. A ViT's attention is written out on its grid of patches.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.interop.library import library
from landmark.interop.onnx import attend_heads, project_heads, save_graph
from landmark.layers.attention import MultiHeadAttention
from landmark.layers.image.folding import fold
from landmark.layers.transformer import EncoderBlock
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.models.transformer.vit import ViT

GRAPH = "network.onnx"
IMAGES, SCORES = "images", "scores"
_BATCH = {0: "batch"}
_LARGEST = 2**31  # bytes of one file of the format


class ViTGraph(nn.Module):
    """A Vision Transformer whose batch may be of any size."""

    def __init__(self, network: ViT) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, S, S) -> (B, K)"""
        network = self.network
        x = read_patches(network, images)
        return network.classify(x[:, 0] if network.config.pool == "token" else x.mean(1))


def read_patches(network: ViT, images: Tensor) -> Tensor:
    """The class token, if there is one, and the patches after the last norm, for any batch size.

    (B, C, S, S) -> (B, T, D)
    """
    embedding = network.embedding
    x = embedding.projection(images).flatten(2).transpose(1, 2)  # (B, T, D)
    if embedding.token is not None:
        x = torch.cat((embedding.token.expand(images.shape[0], -1, -1), x), 1)
    x = x + embedding.position
    for block in network.blocks:
        assert isinstance(block, EncoderBlock)

        def attention(x: Tensor, own: MultiHeadAttention = block.attention) -> Tensor:
            return attend_heads(own, *project_heads(own, x, "query key value"))

        x = block.around_attention(x, attention)
        x = block.around_feedforward(x, block.feedforward)
    normed: Tensor = network.norm(x)
    return normed


@torch.no_grad()
def save_classifier(network: ImageNetwork, config: ImageNetworkConfig, folder: Path) -> None:
    """Write network.onnx into a folder that is there."""
    library("onnx")
    size = sum(tensor.nbytes for tensor in network.state_dict().values())
    if size >= _LARGEST:
        raise UserError(
            f"ONNX: the network's {size / 1e9:.1f} GB do not fit into one file, which holds 2 GB"
        )
    folded = fold(network).to("cpu", memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    graph = ViTGraph(folded) if isinstance(folded, ViT) else folded
    side = config.image_size
    example = torch.zeros(2, config.channels, side, side)
    save_graph(graph.eval(), (example,), {IMAGES: _BATCH}, {SCORES: _BATCH}, folder / GRAPH)
