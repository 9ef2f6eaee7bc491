"""Spatial size after convolutions and pooling, and the smallest possible input size.

Dense layers read maps of one size. It is found from `image_size` by arithmetic; images of another
size come through too, their maps averaged to it, as torchvision does.
"""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Window = tuple[int, int, int]
"""Kernel, stride and padding of a convolution or a pooling."""


def output_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """How many places a window has: floor((n - k + p + s) / s), p = 2 * padding; none is 0."""
    return max((size - kernel + 2 * padding + stride) // stride, 0)


def needed_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """The smallest input with at least `size` places for a window: output_size the other way."""
    return max((size - 1) * stride + kernel - 2 * padding, 1)


def map_side(image_size: int, windows: Iterable[Window]) -> int:
    """Pixels a side of the map behind the windows, one after the other."""
    for kernel, stride, padding in windows:
        image_size = output_size(image_size, kernel, stride, padding)
    return image_size


def smallest_side(windows: Sequence[Window]) -> int:
    """Pixels a side of the smallest image of which something is left behind the windows."""
    size = 1
    for kernel, stride, padding in reversed(windows):
        size = needed_size(size, kernel, stride, padding)
    return size


def check_size(
    network: type[ImageNetwork],
    config: ImageNetworkConfig,
    without_heads: ImageNetworkConfig | None = None,
) -> None:
    """Refuse a configuration whose images would vanish on the way.

    Auxiliary heads may need larger images than the rest: then what it would be without them.
    """
    smallest = network.smallest(config)
    if config.image_size >= smallest:
        return
    bare = smallest if without_heads is None else network.smallest(without_heads)
    or_else = f", or {bare} with auxiliary=false" if bare < smallest else ""
    raise UserError(
        f"image_size is {config.image_size}, too small for {network.__name__}: "
        f"it needs images of at least {smallest} pixels a side{or_else}"
    )


def fit(maps: Tensor, side: int) -> Tensor:
    """Maps of any size averaged to the side that dense layers read; of that side, as they are."""
    if maps.shape[-2:] == (side, side):
        return maps
    return nn.functional.adaptive_avg_pool2d(maps, side)
