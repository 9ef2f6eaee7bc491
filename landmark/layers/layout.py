"""Memory layout of the weights for fast inference on a CPU.

Tokens are written one at a time, so a product has as many rows as texts, and most of its time goes
into reading the matrix. Which kernel reads fastest depends on the layout: one row is multiplied
by numpy's BLAS with a matrix laid out by columns, several rows by oneDNN with a matrix in blocks.
`store_by_columns` is for texts that are mostly written one at a time; `pack_linear` for beams,
batches and image networks, whose products have several rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_EXPECTED_ROWS = 16  # what oneDNN chooses its blocks by; they serve any number above one


class ColumnLinear(nn.Linear):
    """The same linear layer, laid out column by column; `pack` adds a copy for several rows."""

    packed: Tensor | None = None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        linear.weight.data = linear.weight.data.t().contiguous().t()
        self.weight, self.bias = linear.weight, linear.bias

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of: blocks cannot be copied, and are made anew where wanted."""
        return {**self.__dict__, "packed": None}

    def pack(self) -> None:
        """Lay out a copy in blocks, unless this build of torch has none or there is one."""
        if self.packed is None and torch.backends.mkldnn.is_available():
            weight = self.weight.detach().contiguous()
            self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, _EXPECTED_ROWS)

    def forward(self, x: Tensor) -> Tensor:
        is_one = x.dim() == 2 and x.shape[0] == 1
        if x.requires_grad or x.dim() != 2 or not (is_one or self.packed is not None):
            return super().forward(x)
        if not is_one:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(
                x, self.packed, self.bias, "none", [], ""
            )
            return product
        row = self.weight.detach().numpy() @ x.numpy()[0]
        if self.bias is not None:
            row += self.bias.detach().numpy()
        return torch.from_numpy(row)[None]


class PackedLinear(nn.Linear):
    """The same linear layer with a copy of its matrix in oneDNN's blocks, for inference on a CPU.

    The copy is made at the first product of several rows, and again when the matrix has changed.
    One row, gradients, lower precision and ONNX exports go by the matrix itself.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self._packed: tuple[tuple[int, int], Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of: blocks cannot be copied, and are made anew where wanted."""
        return {**self.__dict__, "_packed": None}

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight
        if torch.is_grad_enabled() or x.shape[:-1].numel() < 2 or not _can_pack(x, weight):
            return super().forward(x)
        stamp, packed = (weight.data_ptr(), weight._version), self._packed
        if packed is None or packed[0] != stamp:
            matrix = weight.detach().contiguous()
            packed = stamp, torch.ops.mkldnn._reorder_linear_weight(matrix, _EXPECTED_ROWS)
            self._packed = packed
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, packed[1], self.bias, "none", [], ""
        )
        return product


def _can_pack(x: Tensor, weight: Tensor) -> bool:
    return (
        x.device.type == weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and not weight.is_inference()  # whose changes are not counted
        and not torch.is_autocast_enabled("cpu")
        and not torch.onnx.is_in_onnx_export()
    )


def pack_linear(model: nn.Module) -> None:
    """Make all linear layers packed ones, where this build of torch can; values stay.

    What shares a matrix goes on sharing it. The copies take as much memory as the matrices.
    """
    if not torch.backends.mkldnn.is_available():
        return
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if type(layer) is nn.Linear:
                setattr(module, name, PackedLinear(layer))


def store_by_columns(model: nn.Module) -> None:
    """Lay out all linear layers so; values stay, and what shares a matrix goes on sharing it."""
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, ColumnLinear(layer))


def pack_columns(model: nn.Module) -> None:
    """Make ready for several rows at a time all layers that lie by columns."""
    for layer in model.modules():
        if isinstance(layer, ColumnLinear):
            layer.pack()


def has_columns(model: nn.Module) -> bool:
    """Whether any layer lies so."""
    return any(isinstance(layer, ColumnLinear) for layer in model.modules())


@contextmanager
def numpy_alone(wanted: bool) -> Iterator[None]:
    """Within the block torch computes on one thread, if that is wanted.

    Its other threads wait busily for their next part; numpy's, which multiply one row, would get
    the cores only when those are tired of it, and writing take eight times as long.
    """
    usual = torch.get_num_threads()
    if not wanted or usual == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
