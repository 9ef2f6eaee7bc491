"""Changes of real and made images alike, through which gradients flow: for few pictures.

Zhao et al. 2020, "Differentiable Augmentation for Data-Efficient GAN Training", arXiv 2006.10738.
The discriminator sees nothing but changed images, so it cannot learn the few real ones by heart,
and as made images are changed too, the changes do not leak into what the generator makes.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

Change = Literal["color", "translation", "cutout"]
_SHIFT = 1 / 8  # of a side, at most
_CUT = 1 / 2  # of a side


def augment(images: Tensor, changes: Sequence[Change]) -> Tensor:
    """Each image changed in every one of these ways, each time anew. (B, C, H, W) -> the same"""
    for change in changes:
        for function in _CHANGES[change]:
            images = function(images)
    return images


def _draw(images: Tensor) -> Tensor:
    """A number between 0 and 1 for each image. (B, 1, 1, 1)"""
    return torch.rand(len(images), 1, 1, 1, device=images.device)


def _brighten(images: Tensor) -> Tensor:
    """Up or down by half at most."""
    return images + _draw(images) - 0.5


def _saturate(images: Tensor) -> Tensor:
    """From grey to twice as colourful."""
    grey = images.mean(1, keepdim=True)
    return torch.lerp(grey, images, 2 * _draw(images))


def _contrast(images: Tensor) -> Tensor:
    """From half to one and a half times the contrast."""
    middle = images.mean((1, 2, 3), keepdim=True)
    return torch.lerp(middle, images, _draw(images) + 0.5)


def _translate(images: Tensor) -> Tensor:
    """By an eighth of each side at most; zeros come in."""
    count, _, height, width = images.shape
    rows, columns = (
        _shifted(count, side, images.device).view(count, *shape)
        for side, shape in ((height, (1, height, 1)), (width, (1, 1, width)))
    )
    padded = torch.nn.functional.pad(images, (1, 1, 1, 1))
    moved = padded.gather(2, (rows + 1).expand(-1, images.shape[1], -1, width + 2))
    return moved.gather(3, (columns + 1).expand(-1, images.shape[1], height, -1))


def _shifted(count: int, side: int, device: torch.device) -> Tensor:
    """Where each place of a side comes from; -1 or `side` where that is beyond. (B, side)"""
    most = round(side * _SHIFT)
    shift = torch.randint(-most, most + 1, (count, 1), device=device)
    return (torch.arange(side, device=device) + shift).clamp(-1, side)


def _cut_out(images: Tensor) -> Tensor:
    """A rectangle of half of each side becomes zero; it may reach beyond."""
    count, _, *sides = images.shape
    inside = []
    for side in sides:
        length = round(side * _CUT)
        first = torch.randint(0, side + 1 - length % 2, (count, 1), device=images.device)
        first = first - length // 2
        places = torch.arange(side, device=images.device)
        inside.append((places >= first) & (places < first + length))
    hole = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    return images.masked_fill(hole, 0.0)


_CHANGES: dict[Change, tuple[Callable[[Tensor], Tensor], ...]] = {
    "color": (_brighten, _saturate, _contrast),
    "translation": (_translate,),
    "cutout": (_cut_out,),
}
