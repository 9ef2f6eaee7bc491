"""A generator as one ONNX graph: noise (B, Z) -> images (B, C, H, W) between 0 and 1."""

from pathlib import Path

import torch
from torch import Tensor, nn

from landmark.interop.library import library
from landmark.interop.onnx import save_graph

GRAPH = "generator.onnx"
NOISE, IMAGES = "noise", "images"
_BATCH = {0: "batch"}


class _FromBlackToWhite(nn.Module):
    """A generator whose images go from 0 to 1, whatever its own black is."""

    def __init__(self, generator: nn.Module, low: float) -> None:
        super().__init__()
        self.generator, self.low = generator, low

    def forward(self, noise: Tensor) -> Tensor:
        made: Tensor = (self.generator(noise) - self.low) / (1 - self.low)
        return made


@torch.no_grad()
def save_generator(generator: nn.Module, noise_size: int, low: float, folder: Path) -> None:
    """Write generator.onnx into a folder that is there."""
    library("onnx")
    graph = _FromBlackToWhite(generator, low).eval()
    example = torch.zeros(2, noise_size)
    save_graph(graph, (example,), {NOISE: _BATCH}, {IMAGES: _BATCH}, folder / GRAPH)
