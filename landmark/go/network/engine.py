"""Two engines that run a Go network on one core: ONNX Runtime and PyTorch, planes to outputs.

A network is a module whose forward takes planes (B, C, N, N) and returns `policy` (B, N * N + 1)
logits, the pass last; `value` (B,), the logit that the colour to move wins; `ownership` (B, N * N)
from -1 to 1, the mover's view, and `score` (B,), the mover's points, which may be None. Batch
norms are folded into the convolutions before them. ONNX Runtime is as fast for one position as for
many; PyTorch has to have many. Both give the same to 1e-4.
"""

import tempfile
from collections.abc import Iterator, Mapping
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

EngineName = Literal["auto", "onnx", "torch"]
_PLANES = "planes"
_BATCH = {0: "batch"}


class Outputs(NamedTuple):
    """What a network says of a batch of B positions on a board of A points."""

    policy: np.ndarray
    """(B, A + 1) logits, the pass last."""
    value: np.ndarray
    """(B,) logits that the colour to move wins."""
    ownership: np.ndarray | None
    """(B, A) from -1 to 1, 1 for the colour to move."""
    score: np.ndarray | None
    """(B,) points for the colour to move."""


class Engine(Protocol):
    """Runs a network on planes (B, C, N, N) of single precision."""

    def __call__(self, planes: np.ndarray) -> Outputs: ...


class TorchEngine:
    """The network in PyTorch, channels last, on one thread."""

    def __init__(self, module: nn.Module) -> None:
        folded = fold(module).requires_grad_(False).to("cpu", torch.float32)
        self._module: Any = folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, planes: np.ndarray) -> Outputs:
        given = torch.from_numpy(planes).contiguous(memory_format=torch.channels_last)
        with torch.inference_mode(), _one_thread():
            found = self._module(given)
        return _outputs({name: _array(getattr(found, name)) for name in Outputs._fields})


class OnnxEngine:
    """The network as a graph for ONNX Runtime, on one thread that does not spin."""

    def __init__(self, module: nn.Module, channels: int, size: int) -> None:
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
        return _outputs(dict(zip(self._names, found, strict=True)))


class _Graph(nn.Module):
    """A network that returns a tuple of those outputs which it has."""

    names: list[str]

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        found = self.module(planes)
        return tuple(getattr(found, name) for name in self.names)


def open_engine(module: nn.Module, channels: int, size: int, engine: EngineName = "auto") -> Engine:
    """An engine by name; auto: ONNX Runtime where it is installed."""
    if engine == "auto":
        has_runtime = find_spec("onnxruntime") and find_spec("onnx")
        engine = "onnx" if has_runtime else "torch"
    return TorchEngine(module) if engine == "torch" else OnnxEngine(module, channels, size)


def _outputs(found: Mapping[str, Any]) -> Outputs:
    return Outputs(found["policy"], found["value"], found.get("ownership"), found.get("score"))


def _array(tensor: Tensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.numpy()


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
