"""Memory for a model: one that cannot fit is refused while it is built, before it is taken."""

import math
import os
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from landmark.core.errors import UserError

_MOST_TENSORS = 20_000
"""The deepest model in use, of a thousand layers, has 12,000."""
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_SIZED = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn)
_FILLED = (torch.full, torch.empty_strided)
_COUNTED = (torch.arange, torch.range, torch.linspace)
_META = torch.device("meta")


def machine_memory() -> int:
    """Bytes of memory of this machine, or of the container this process is in."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        try:
            memory = min(memory, int(path.read_text()))
        except (OSError, ValueError):  # no container, or "max"
            continue
    return memory


class SizeLimit(TorchFunctionMode):
    """Within the block, weights that this machine cannot hold are refused before they are made.

    From there on tensors are made without numbers, so that the error can say how much is needed.
    `copies`: how often they are needed; training needs gradients, too. `counts_meta`: whether
    tensors without numbers count as if they had them.
    """

    def __init__(self, what: str, copies: int = 1, counts_meta: bool = False) -> None:
        super().__init__()
        self.what, self.copies, self.counts_meta = what, copies, counts_meta
        self.memory = machine_memory()
        self.needed = self.tensors = 0

    @property
    def exceeded(self) -> bool:
        return self.needed > self.memory

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        elements = _elements(func, args, kwargs)
        is_meta = torch.device(kwargs.get("device") or "cpu") == _META
        if elements is None or (is_meta and not self.counts_meta):
            return func(*args, **kwargs)
        kind = kwargs.get("dtype") or torch.get_default_dtype()
        self.needed += self.copies * elements * kind.itemsize
        self.tensors += 1
        if self.tensors > _MOST_TENSORS:
            raise UserError(f"{self.what} has more than {_MOST_TENSORS:,} tensors: make it smaller")
        if self.exceeded:
            if not math.isfinite(self.needed) or self.needed > 1 << 62:
                raise self._refusal()
            kwargs["device"] = _META
        return func(*args, **kwargs)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        super().__exit__(kind, error, trace)
        if self.exceeded and (error is None or isinstance(error, Exception)):
            raise self._refusal() from None

    def _refusal(self) -> UserError:
        return UserError(
            f"{self.what} needs {_gigabytes(self.needed)} of memory, and this machine has "
            f"{_gigabytes(self.memory)}: make it smaller"
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e18 else "more than 1,000,000,000 GB"


def _elements(func: Any, args: Any, kwargs: Any) -> int | None:
    """How many numbers a call makes room for; None if it makes none."""
    if func in _COUNTED:
        ends = [value for value in args[:2] if isinstance(value, int | float)]
        return int(min(max(map(abs, ends), default=0), 1 << 62))
    if func in _SIZED:
        size = args or kwargs.get("size", ())
    elif func in _FILLED:
        size = args[:1] or kwargs.get("size", ())
    else:
        return None
    sizes = size[0] if size and not isinstance(size[0], int) else size
    return math.prod(sizes)
