"""Convolution, batch norm and ReLU, the unit of networks since 2015.

Ioffe and Szegedy 2015, arXiv 1502.03167: the norm stands between the convolution and the
rectifier, and takes the place of the convolution's bias. The three are a Sequential, so that
`layers.image.folding` can see that the norm reads the convolution and nothing else.
"""

from collections import OrderedDict

import torch.nn.functional as F
from torch import Tensor, nn

Pair = int | tuple[int, int]
_FEW = 8  # channels: as many numbers as a vector of a processor has


class PickingConvolution(nn.Conv2d):
    """A 1x1 convolution at a stride: picks the pixels it is about, then looks at each.

    It is equal to torch's own, which for fewer than eight channels that lie last in memory writes
    beyond its memory in the backward pass (torch 2.13 on a processor with AVX2).
    """

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H/stride, W/stride)"""
        down, across = self.stride
        return F.conv2d(x[:, :, ::down, ::across], self.weight, self.bias, groups=self.groups)


class ConvolutionUnit(nn.Sequential):
    """Convolution, batch norm and ReLU; without the norm, the convolution has a bias."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Pair,
        stride: int = 1,
        padding: Pair | None = None,
        *,
        norm: bool = True,
        epsilon: float = 1e-5,
        rectified: bool = True,
        groups: int = 1,
    ) -> None:
        """No padding given: what keeps the size at stride 1, for an odd kernel."""
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        around = same_padding(kernel) if padding is None else padding
        is_risky = kernel == 1 and stride > 1 and inputs < _FEW
        parts["convolution"] = (PickingConvolution if is_risky else nn.Conv2d)(
            inputs, outputs, kernel, stride, around, groups=groups, bias=not norm
        )
        if norm:
            parts["norm"] = nn.BatchNorm2d(outputs, epsilon)
        if rectified:
            parts["activation"] = nn.ReLU(inplace=True)
        super().__init__(parts)


def same_padding(kernel: Pair) -> Pair:
    """What an odd kernel needs on each side to leave the size as it is."""
    return kernel // 2 if isinstance(kernel, int) else (kernel[0] // 2, kernel[1] // 2)
