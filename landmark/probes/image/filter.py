"""The lecture's hand-made kernels: what a 3 x 3 cross-correlation can do to an image.

The slides print whole numbers and mean ninths of them: 9 in the middle leaves an image as it is.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

HAND_MADE: dict[str, tuple[tuple[int, int, int], ...]] = {
    "identity": ((0, 0, 0), (0, 9, 0), (0, 0, 0)),
    "edge": ((0, 9, 0), (9, -36, 9), (0, 9, 0)),
    "blur": ((1, 1, 1), (1, 1, 1), (1, 1, 1)),
    "sharpen": ((0, -3, 0), (-3, 21, -3), (0, -3, 0)),
    "lighten": ((0, 0, 0), (0, 12, 0), (0, 0, 0)),
    "darken": ((0, 0, 0), (0, 6, 0), (0, 0, 0)),
    "random 1": ((-2, 2, 18), (-3, 0, 2), (-3, -3, -2)),
    "random 2": ((9, 6, 0), (6, 0, -6), (0, -6, -1)),
}
"""As printed: in ninths."""


def kernel(name: str) -> Tensor:
    """A hand-made kernel's weights. (3, 3)"""
    return torch.tensor(HAND_MADE[name], dtype=torch.float32) / 9


def apply_kernel(image: Tensor, weights: Tensor) -> Tensor:
    """Every channel for itself under one kernel, same size; the border is repeated outwards.

    Values below 0 and above 1 are cut off, as a screen does. (C, H, W) -> (C, H, W)
    """
    around = weights.shape[-1] // 2
    padded = F.pad(image[:, None], (around,) * 4, mode="replicate")
    filtered: Tensor = F.conv2d(padded, weights[None, None].to(image))
    return filtered[:, 0].clamp(0, 1)
