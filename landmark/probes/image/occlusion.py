"""Occlusion sensitivity: the class probability with a part of the image covered.

Zeiler and Fergus 2014, arXiv 1311.2901, section 4.2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError

_TOGETHER = 64  # covered images looked at at a time


@dataclass(frozen=True)
class Occlusion:
    """The probability of one class with a patch at each place."""

    whole: float
    """With nothing covered."""
    covered: Tensor
    """(rows, columns): with a patch there."""
    tops: tuple[int, ...]
    lefts: tuple[int, ...]
    """Where the patches of each row and column begin, in pixels."""
    size: int
    """Of the patch, pixels a side."""

    def drop(self, height: int, width: int) -> Tensor:
        """What is lost in the mean over all patches that cover a pixel. (height, width)"""
        total, times = torch.zeros(height, width), torch.zeros(height, width)
        for row, top in enumerate(self.tops):
            for column, left in enumerate(self.lefts):
                place = slice(top, top + self.size), slice(left, left + self.size)
                total[place] += self.whole - self.covered[row, column]
                times[place] += 1
        return total / times.clamp(min=1)


@torch.no_grad()
def occlude(
    model: nn.Module,
    image: Tensor,
    target: int,
    size: int,
    stride: int,
    report: Callable[[int], None] = lambda count: None,
) -> Occlusion:
    """Cover the image with a patch at every place in turn. image: (1, C, H, W), normalised

    The patch is 0 in every channel, which after normalising is the mean colour of the training
    images. The last row and column of patches end where the image does.
    """
    height, width = image.shape[-2:]
    if size > min(height, width):
        raise UserError(
            f"a patch of {size} pixels covers an image of {width}x{height}: give a smaller one"
        )
    tops, lefts = _places(height, size, stride), _places(width, size, stride)
    whole = model(image).float().softmax(-1)[0, target]
    places = [(top, left) for top in tops for left in lefts]
    believed = []
    for start in range(0, len(places), _TOGETHER):
        chosen = places[start : start + _TOGETHER]
        images = image.repeat(len(chosen), 1, 1, 1)
        for covered, (top, left) in zip(images, chosen, strict=True):
            covered[:, top : top + size, left : left + size] = 0
        believed.append(model(images).float().softmax(-1)[:, target].cpu())
        report(len(chosen))
    grid = torch.cat(believed).view(len(tops), len(lefts))
    return Occlusion(float(whole), grid, tops, lefts, size)


def _places(length: int, size: int, stride: int) -> tuple[int, ...]:
    """Where patches begin along a side, to the last pixel."""
    regular = range(0, length - size + 1, stride)
    return tuple(dict.fromkeys([*regular, length - size]))
