"""Linear layers in 8 bits, to use a trained model on a CPU with.

Dynamic quantisation: weights are rounded once, each output's by a scale of its own; inputs as they
come, all rows of a batch by one scale, so a row's result depends a little on the others. torch
marks the type of such weights as deprecated, but has nothing else for CPUs of all kinds.
"""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError

_LARGEST = 127


class Int8Linear(nn.Module):
    """A linear layer whose weights are whole numbers from -127 to 127 and a scale a row."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        scales = (weight.abs().amax(1).double() / _LARGEST).clamp(min=torch.finfo(torch.float).tiny)
        zero = torch.zeros_like(scales, dtype=torch.int64)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*deprecated", category=UserWarning)
            rounded = torch.quantize_per_channel(weight, scales, zero, 0, torch.qint8)
        bias = None if linear.bias is None else linear.bias.detach()
        self._packed: Any = torch.ops.quantized.linear_prepack(rounded, bias)

    def forward(self, x: Tensor) -> Tensor:
        # Inputs of 7 bits: with 8, sums would overflow on CPUs without instructions for them.
        product: Tensor = torch.ops.quantized.linear_dynamic(x, self._packed, reduce_range=True)
        return product


def quantize_linear_layers(model: nn.Module) -> None:
    """Replace all linear layers of a model that is not trained any more."""
    if set(torch.backends.quantized.supported_engines) <= {"none"}:
        raise UserError("int8: this build of torch has no 8-bit products: leave it out")
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
