"""The runtime of a run: seeds, device, threads, precision, versions."""

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterator
from typing import Literal

import torch
from torch import nn

import landmark
from landmark.core.errors import UserError

Precision = Literal["fp32", "bf16", "fp16"]
_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from any key: the same key gives the same numbers on every machine."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def choose_device(name: str) -> torch.device:
    """The device of that name; `auto` takes an accelerator if there is one."""
    if name == "auto":
        accelerator = (
            torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        )
        return accelerator or torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError):
        # In this order: no such name, number or kernel; torch was built without this kind; the
        # kind comes with a package of its own, which is not installed.
        raise UserError(
            f"device {name!r} is not usable here: choose from {', '.join(devices())}"
        ) from None
    if device.type == "meta":
        raise UserError("device 'meta' cannot hold numbers: choose from " + ", ".join(devices()))
    return device


def devices() -> list[str]:
    """The devices this machine can compute on."""
    found = ["auto", "cpu"]
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator()
        found += [f"{kind}:{index}" for index in range(torch.accelerator.device_count())]
    return found


def set_threads(count: int | None) -> int:
    """Set how many threads torch computes with (None: leave it); returns the number in use."""
    if count is not None:
        torch.set_num_threads(count)
    return torch.get_num_threads()


@contextlib.contextmanager
def autocast(device: torch.device, precision: Precision) -> Iterator[None]:
    """Compute matrix products in the given precision; nothing to do for fp32."""
    if precision == "fp32":
        yield
        return
    with torch.autocast(device.type, dtype=_AUTOCAST[precision]):
        yield


def lower(module: nn.Module, precision: Precision) -> None:
    """Keep the matrices of a network that only `autocast` will use in its precision.

    They take half the memory, and are not converted at every product.
    """
    if precision != "fp32":
        for layer in module.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d):
                layer.weight.data = layer.weight.data.to(_AUTOCAST[precision])


def environment() -> dict[str, str | int]:
    """What a run depends on beside its recipe: versions, threads, platform."""
    return {
        "landmark": landmark.__version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }
