"""Inference engines for image classifiers: PyTorch and ONNX Runtime, normalised images to scores.

On a processor, convolutions are fastest on images that lie channels-last in memory, which spares
them reordering every map; batch norms are folded into them, and weights are packed once (see
packed.py). Compiling does the same and fuses what is left, for a minute or two of waiting before
the first answer: it pays for many thousands of images.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import Precision, autocast, lower
from landmark.engine.run import Run
from landmark.interop.library import library
from landmark.interop.onnx_classifier import GRAPH, IMAGES
from landmark.layers.image.folding import fold
from landmark.models.image import ImageNetwork
from landmark.models.transformer.vit import ViT
from landmark.models.vision import lay_out
from landmark.tasks.exporting import open_export
from landmark.tasks.image_classification.packed import pack

COMPILED, ONNX, ONNX_INT8 = "compiled", "onnx", "onnx-int8"


class ImageEngine(Protocol):
    """Anything that can name what is in images."""

    def scores(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""


class TorchImageEngine:
    """A network made ready for use; the one that is given stays as it is."""

    def __init__(
        self,
        network: ImageNetwork,
        device: torch.device | None = None,
        *,
        compiled: bool = False,
        precision: Precision = "fp32",
    ) -> None:
        self.device = device or torch.device("cpu")
        self.network = lay_out(fold(network).requires_grad_(False).to(self.device))
        self.compiled, self.precision = compiled, precision
        lower(self.network, precision)
        self._run: Any = self.network
        if compiled:  # at the first images that come, and anew for other sizes
            self._run = torch.compile(self.network, options={"freezing": True})
        elif (
            self.device.type == "cpu" and precision == "fp32" and not isinstance(network, ViT)
        ):  # which hardly convolves
            pack(self.network)

    @torch.inference_mode()
    def scores(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""
        try:
            with autocast(self.device, self.precision):
                scores: Tensor = self._run(self._laid_out(images))
        except RuntimeError as error:
            if not self.compiled:
                raise
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"torch cannot compile here ({reason}): leave it out") from None
        return scores

    @torch.inference_mode()
    def features(self, images: Tensor) -> Tensor:
        """What the last layer reads, not compiled. (B, C, H, W) -> (B, F)"""
        with autocast(self.device, self.precision):
            return self.network.features(self._laid_out(images))

    def _laid_out(self, images: Tensor) -> Tensor:
        return images.to(self.device).contiguous(memory_format=torch.channels_last)


class OnnxImageEngine:
    """A network as `landmark export --to onnx` writes it, run by ONNX Runtime on processors."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        runtime = library("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or torch.get_num_threads()
        options.log_severity_level = 3  # errors only
        try:
            self._session = runtime.InferenceSession(
                str(folder / GRAPH), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # a class of its own for each fault
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{folder / GRAPH}: ONNX Runtime cannot read it: {reason}") from None
        self.side = self._session.get_inputs()[0].shape[2]

    def scores(self, images: Tensor) -> Tensor:
        """(B, C, S, S) -> (B, K)"""
        if images.shape[2:] != (self.side, self.side):
            height, width = images.shape[2:]
            raise UserError(
                f"the exported network looks at {self.side} x {self.side} pixels, "
                f"not at {height} x {width}"
            )
        given = np.ascontiguousarray(images.float().cpu().numpy())
        return torch.from_numpy(self._session.run(None, {IMAGES: given})[0])


def load_onnx(run: Run, checkpoint: str | None = None, name: str = ONNX) -> OnnxImageEngine:
    """The engine of a run's export; refuses one that is missing, damaged or of other weights."""
    library("onnxruntime")
    return OnnxImageEngine(open_export(run, name, checkpoint))
