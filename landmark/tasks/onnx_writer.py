"""A writer's two ONNX graphs, encoder and decoder, as something that searches can step."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from landmark.interop.library import library
from landmark.interop.onnx import DECODER, ENCODER
from landmark.interop.onnx_captioner import IMAGES
from landmark.layers.packing import Packing


class OnnxState:
    """What the decoder graph is fed at the next step."""

    def __init__(self, memory: dict[str, Any], rows: dict[str, Any]) -> None:
        self.memory, self.rows = memory, rows

    def select_rows(self, rows: Tensor) -> None:
        """Reorder, repeat or drop rows."""
        self.rows = {name: array[:, rows.numpy()] for name, array in self.rows.items()}

    def select_sentences(self, sentences: Tensor) -> None:
        """Keep these sentences."""
        kept = sentences.numpy()
        self.memory = {
            name: array[kept] if name == "visible" else array[:, kept]
            for name, array in self.memory.items()
        }


class OnnxWriter:
    """Encoder and decoder graphs behind the two calls that searches make of a writer.

    Where it goes by the first graph's inputs: sentences with what is visible of them, or images.
    """

    def __init__(self, folder: Path, threads: int, vocab_size: int) -> None:
        self.config = SimpleNamespace(vocab_size=vocab_size)
        runtime = library("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._encoder, self._decoder = (
            runtime.InferenceSession(
                str(folder / name), options, providers=["CPUExecutionProvider"]
            )
            for name in (ENCODER, DECODER)
        )

    def start(
        self, source: Tensor, packing: Packing, rows_per_sentence: int, max_length: int
    ) -> OnnxState:
        """Encode sources; the state has `rows_per_sentence` rows a source."""
        given: dict[str, Any] = {}
        seen: dict[str, Any] = {}
        if self._encoder.get_inputs()[0].name == IMAGES:
            given[IMAGES] = source.contiguous().numpy()
            seen["visible"] = np.ones((packing.batch_size, packing.max_length), np.bool_)
        else:
            places = np.arange(packing.max_length)
            seen["visible"] = visible = places < packing.lengths.numpy()[:, None]
            given["source"] = np.zeros(visible.shape, np.int64)
            given["source"][visible] = source.numpy()
            given |= seen
        encoded = _named(self._encoder, given)
        memory = {name: array for name, array in encoded.items() if name.startswith("memory_")}
        first = {
            name.removeprefix("first_"): np.repeat(array, rows_per_sentence, 1)
            for name, array in encoded.items()
            if name.startswith("first_")
        }
        return OnnxState({**memory, **seen}, first or _empty(memory, rows_per_sentence))

    def step(self, tokens: Tensor, state: OnnxState) -> Tensor:
        """Logits of the token after these. (R,) -> (R, V)"""
        inputs = {"tokens": tokens.numpy(), **state.memory, **state.rows}
        outputs = _named(self._decoder, inputs)
        logits = torch.from_numpy(outputs.pop("logits"))
        state.rows = {name.removeprefix("next_"): array for name, array in outputs.items()}
        return logits


def _named(graph: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """A graph's outputs by name."""
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(names, inputs), strict=True))


def _empty(memory: dict[str, Any], rows: int) -> dict[str, Any]:
    """A Transformer's cache before the first step: as its memory, but of no token."""
    layers, batch, heads, _, size = memory["memory_keys"].shape
    cache = np.zeros((layers, batch * rows, heads, 0, size), np.float32)
    return {"keys": cache, "values": cache}
