"""A second device on a machine that has none: as with a GPU, tensors of two devices do not mix.

It goes by the name of `meta`, and its tensors hold numbers, which the CPU computes with. What a
GPU allows is allowed here: numbers without dimensions, and indices that lie on the CPU in
`tensor[index]`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

SECOND = torch.device("meta")
_MOVES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
_HAVE_SIZES = [
    getattr(torch.ops.aten, name).data for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
]
_TAKES_CPU_INDICES = (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default)


class SecondTensor(Tensor):
    """A tensor of the second device, around one of the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "SecondTensor":
        made = Tensor._make_wrapper_subclass(
            cls, held.shape, held.stride(), held.storage_offset(), dtype=held.dtype, device=SECOND
        )
        made.held = held
        return made

    def __repr__(self) -> str:
        return f"second({self.held!r})"

    def tolist(self):
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        with MixedDevices():
            return operation(*args, **(kwargs or {}))


class MixedDevices(TorchDispatchMode):
    """Refuses what a GPU refuses; new tensors with device=SECOND are of the second device."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        wanted = kwargs.get("device")
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        seconds = [x for x in tensors if isinstance(x, SecondTensor)]
        assert not any(x.is_meta for x in tensors if not isinstance(x, SecondTensor)), operation
        if seconds and operation not in _MOVES:
            checked = tensors
            if operation in _TAKES_CPU_INDICES:
                checked = tensors[:1]
            elif operation in _HAVE_SIZES:  # of batches: these must lie on the CPU
                checked = [x for x in tensors if x is not args[1]]
            strangers = [x for x in checked if not isinstance(x, SecondTensor) and x.dim()]
            if strangers:
                raise RuntimeError(f"{operation}: tensors on cpu and on the second device")
        if wanted is not None:
            kwargs["device"] = torch.device("cpu")
        is_second = bool(seconds) if wanted is None else torch.device(wanted) == SECOND
        if operation is torch.ops.aten.copy_.default:
            is_second = isinstance(args[0], SecondTensor)
        bare = tree_map(_bare, (args, kwargs))
        found = operation(*bare[0], **bare[1])
        if not is_second:
            return found
        own = {id(x.held): x for x in seconds}
        return tree_map(lambda x: _second(x, own), found)


def _second(value, own):
    """A result on the second device; what was changed in place is still the tensor it was."""
    if not isinstance(value, Tensor):
        return value
    if id(value) in own:
        return own[id(value)]
    with torch.inference_mode(False):  # views of wrapped inference tensors are not supported
        return SecondTensor(value)


def _bare(value):
    return value.held if isinstance(value, SecondTensor) else value


class _Written(TorchFunctionMode):
    """Tensors of Python's numbers are made where no dispatch mode looks: here they are, before."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.tensor and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return torch.tensor(*args, **kwargs).to(device)
        if function in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[1], list):
            args = (args[0], torch.tensor(args[1]), *args[2:])
        return function(*args, **kwargs)


@contextmanager
def second_device() -> Iterator[torch.device]:
    """In this context the second device is there."""
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with MixedDevices(), _Written():
            yield SECOND
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
