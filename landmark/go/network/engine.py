"""Two engines that run a Go network on one core: ONNX Runtime and PyTorch, planes to outputs.

Batch norms are folded into the convolutions before them. ONNX Runtime is as fast for one position
as for many; PyTorch has to have many. Both give the same to 1e-4.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from landmark.interop.library import library
from landmark.interop.onnx import save_graph
from landmark.layers.image.folding import fold
from landmark.models.go.network import GoNetwork

EngineName = Literal["auto", "onnx", "torch"]
_PLANES = "planes"
_BATCH = {0: "batch"}


class Outputs(NamedTuple):
    """A GoOutput as arrays."""

    policy: np.ndarray | None = None
    value: np.ndarray | None = None
    ownership: np.ndarray | None = None
    score: np.ndarray | None = None


class Engine(Protocol):
    """Runs a network on planes (B, C, N, N) of single precision."""

    def __call__(self, planes: np.ndarray) -> Outputs: ...


class TorchEngine:
    """The network in PyTorch, channels last, on one thread."""

    def __init__(self, module: GoNetwork) -> None:
        folded = fold(module).requires_grad_(False).to("cpu", torch.float32)
        self._module: Any = folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: np.ndarray) -> Outputs:
        given = torch.from_numpy(planes).contiguous(memory_format=torch.channels_last)
        with torch.inference_mode(), _one_thread():
            found = self._module(given)
        return Outputs(*(None if one is None else one.numpy() for one in found))


class OnnxEngine:
    """The network as a graph for ONNX Runtime, on one thread that does not spin."""

    def __init__(self, module: GoNetwork, channels: int, size: int) -> None:
        runtime = library("onnxruntime")
        graph = _Graph(fold(module).to("cpu", torch.float32)).eval()
        example = torch.zeros(2, channels, size, size)
        with torch.no_grad():
            found = graph.module(example)
        graph.names = [name for name in Outputs._fields if getattr(found, name) is not None]
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors only
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            path = Path(folder) / "network.onnx"
            outputs = dict.fromkeys(graph.names, _BATCH)
            save_graph(graph, (example,), {_PLANES: _BATCH}, outputs, path)
            self._session = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        self._names = graph.names

    def __call__(self, planes: np.ndarray) -> Outputs:
        found = self._session.run(self._names, {_PLANES: planes})
        return Outputs(**dict(zip(self._names, found, strict=True)))


class _Graph(nn.Module):
    """A network that returns a tuple of those outputs which it has."""

    names: list[str]

    def __init__(self, module: GoNetwork) -> None:
        super().__init__()
        self.module = module

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        found = self.module(planes)
        return tuple(getattr(found, name) for name in self.names)


def open_engine(module: GoNetwork, channels: int, size: int, engine: EngineName = "auto") -> Engine:
    """An engine by name; auto: ONNX Runtime where it is installed."""
    if engine == "auto":
        has_runtime = find_spec("onnxruntime") and find_spec("onnx")
        engine = "onnx" if has_runtime else "torch"
    return TorchEngine(module) if engine == "torch" else OnnxEngine(module, channels, size)


@contextmanager
def _one_thread() -> Iterator[None]:
    """PyTorch computes on one thread within; a training around it gets its own back."""
    usual = torch.get_num_threads()
    if usual == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
