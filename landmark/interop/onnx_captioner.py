"""A captioner as two ONNX graphs: the image network with what is done once, and one step.

encoder.onnx: images (B, C, H, W), normalised -> memory_keys, memory_values (L, B, H, S, ...), what
the decoder looks at; Show, Attend and Tell's also first_hidden and first_cell (1, B, D), each
image's state before the first step.
decoder.onnx: tokens (R,), the newest of each row; memory_keys, memory_values, visible (B, S); the
state -> logits (R, V), and the next state. R is a multiple of B: an image's hypotheses are
consecutive rows. A Transformer's decoder is that of a translator (see onnx.py).
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from landmark.interop.library import library
from landmark.interop.onnx import (
    DECODER,
    ENCODER,
    ROWS,
    SENTENCES,
    encode_memories,
    save_decoder,
    save_graph,
)
from landmark.interop.onnx_classifier import read_patches
from landmark.layers.alignment import AlignmentMemory
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import CaptionState, ShowAttendTell
from landmark.models.captioning.transformer import CaptionTransformer
from landmark.models.image import ImageNetwork
from landmark.models.transformer.vit import ViT

IMAGES = "images"
_BATCH = {0: "batch"}
_MEMORY = {1: "batch"}
_FIRST = {1: "batch"}
_STATE = {1: "rows"}


class CaptionerEncoderGraph(nn.Module):
    """Images to what the decoder looks at and starts from."""

    def __init__(self, model: Captioner) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        model, count = self.model, self.model.config.places
        places = _places(model.encoder_network, images)  # (B, S, F)
        if isinstance(model, CaptionTransformer):
            placed = model.project(places) + model.place(torch.arange(count))
            return encode_memories(model, placed, None)
        assert isinstance(model, ShowAttendTell)
        prepared, mean = places, places.mean(1)
        for layer in model.before_state:
            mean = torch.relu(layer(mean))
        for layer in model.prepare:
            prepared = layer(prepared).tanh()
        keys = model.cross_attention.scorer.prepare(prepared)  # (B, S, K)
        first = [layer(mean).tanh()[None] for layer in (model.first_hidden, model.first_cell)]
        return keys[None, :, None], places[None, :, None], *first


def _places(network: ImageNetwork | None, images: Tensor) -> Tensor:
    """The image network's places, for any batch size. (B, C, H, W) -> (B, S, F)"""
    assert network is not None
    if isinstance(network, ViT):
        return read_patches(network, images)[:, int(network.embedding.has_token) :]
    return network.spatial(images)


class ShowAttendTellGraph(nn.Module):
    """The newest tokens and the state before them to the logits of the next ones."""

    def __init__(self, model: ShowAttendTell) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        visible: Tensor,
        hidden: Tensor,
        cell: Tensor,
    ) -> tuple[Tensor, ...]:
        """(R,) -> (R, V), and the state after them"""
        bias = torch.where(visible, 0.0, -torch.inf)[:, None, None]
        memory = AlignmentMemory(memory_keys[0], memory_values[0], bias)
        carried = CaptionState(memory, hidden[0], cell[0])
        logits = self.model.step(tokens, carried)
        return logits, carried.hidden[None], carried.cell[None]


@torch.no_grad()
def save_captioner_onnx(model: Captioner, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx into a folder that is there."""
    library("onnx")
    config = model.config
    side, places = config.encoder.image_size, config.places
    encoder = CaptionerEncoderGraph(model).eval()
    images = torch.zeros(2, config.encoder.channels, side, side)
    keys, values, *first = encoder(images)
    outputs = {"memory_keys": _MEMORY, "memory_values": _MEMORY}
    names = ["hidden", "cell"][: len(first)]
    save_graph(
        encoder,
        (images,),
        {IMAGES: _BATCH},
        {**outputs, **{f"first_{name}": _FIRST for name in names}},
        folder / ENCODER,
    )
    visible = torch.ones((2, places), dtype=torch.bool)
    if isinstance(model, CaptionTransformer):
        save_decoder(model, (keys, values), visible, folder)
        return
    assert isinstance(model, ShowAttendTell)
    rows = [part.repeat_interleave(3, 1) for part in first]
    save_graph(
        ShowAttendTellGraph(model).eval(),
        (torch.zeros(6, dtype=torch.int64), keys, values, visible, *rows),
        {"tokens": ROWS, **outputs, "visible": SENTENCES, **dict.fromkeys(names, _STATE)},
        {"logits": ROWS, **{f"next_{name}": _STATE for name in names}},
        folder / DECODER,
    )
