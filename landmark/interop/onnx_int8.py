"""An ONNX graph in eight bits: weights and what flows between layers, by ONNX Runtime's own tools.

Weights get a scale a channel, activations the range that they have on sample images (static
quantisation; Jacob et al. 2018, arXiv 1712.05877). Weights take 7 bits of the 8, because products
of full ones overflow on processors without instructions for them (VNNI).
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.interop.library import library

Arrays = NDArray[np.float32]


def quantize_graph(path: Path, name: str, samples: Iterable[Arrays]) -> None:
    """Replace a graph's file by its form in eight bits; samples are batches of the input `name`."""
    library("onnxruntime")
    tools = library("onnxruntime.quantization")
    shapes = library("onnxruntime.quantization.shape_inference")
    prepared, quantized = path.with_suffix(".prepared"), path.with_suffix(".int8")
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)  # it advises on how it is called
    try:
        shapes.quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        tools.quantize_static(
            str(prepared),
            str(quantized),
            _Reader(name, iter(samples)),
            per_channel=True,
            reduce_range=True,
            activation_type=tools.QuantType.QUInt8,
            weight_type=tools.QuantType.QInt8,
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"ONNX Runtime cannot make this graph int8: {reason}") from None
    finally:
        logger.setLevel(level)
        prepared.unlink(missing_ok=True)
    quantized.replace(path)


class _Reader:
    """What ONNX Runtime calibrates by: it asks for one batch after the other."""

    def __init__(self, name: str, samples: Iterator[Arrays]) -> None:
        self.name, self.samples = name, samples

    def get_next(self) -> dict[str, Any] | None:
        batch = next(self.samples, None)
        return None if batch is None else {self.name: batch}
