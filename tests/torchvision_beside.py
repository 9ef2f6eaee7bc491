"""torchvision from `.venv/peers`, where `make test` puts it, without its compiled operators.

It is built for another torch, so its operators do not load. Networks need none of them, but
importing torchvision registers stand-ins, which torch accepts only for operators that exist. So two
are declared here, and never called. Importing this module adds the folder to this process's
sys.path; users never have it there.
"""

import re
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

_DECLARED = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}

for _name, _signature in _DECLARED.items():
    if not hasattr(torch.ops.torchvision, _name):
        torch.library.define(f"torchvision::{_name}", _signature)

PEERS = Path(sys.prefix) / "peers"
if str(PEERS) not in sys.path:
    sys.path.append(str(PEERS))

import torchvision  # noqa: E402

__all__ = ["calibrated", "randomized", "renamed", "torchvision"]


@torch.no_grad()
def randomized(network: nn.Module, seed: int = 1) -> nn.Module:
    """The network to be used, its norms, statistics and biases such that a fault would show."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in [*network.named_parameters(), *network.named_buffers()]:
        if name.endswith("running_var") or (value.dim() == 1 and name.endswith("weight")):
            value.uniform_(0.5, 1.5, generator=generator)
        elif value.is_floating_point() and (value.dim() == 1 or not value.any()):
            value.normal_(std=0.1, generator=generator)  # also a head that begins at zero
    return network.eval()


@torch.no_grad()
def calibrated(network: nn.Module, images: torch.Tensor) -> nn.Module:
    """The network with its norms set by images, so that what they show reaches a deep output."""
    norms = [module for module in network.eval().modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.train().momentum = 1.0  # the statistics of these images alone
    network(images)
    for norm in norms:
        norm.momentum = 0.1
    return network.eval()


def renamed(state: dict[str, torch.Tensor], *rules: tuple[str, Any]) -> dict[str, torch.Tensor]:
    """A state dict with every regular expression replaced in every name, one after the other."""
    changed = {}
    for name, value in state.items():
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        changed[name] = value
    return changed
