"""Images on axes: as they are, side by side, and under a translucent heat map."""

import torch
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from torch import Tensor
from torch.nn.functional import interpolate

HEAT = "inferno"
_PANEL = 48  # pixels that a panel has at least
_AROUND = (0.85, 0.91, 1.0)


def draw_picture(axes: Axes, image: Tensor, title: str = "") -> AxesImage:
    """An image of 0 to 1, grey or in colour, without ticks. (C, H, W)"""
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=8, parse_math=False)
    shown = image[0] if len(image) == 1 else image.permute(1, 2, 0)
    return axes.imshow(
        shown.clamp(0, 1).numpy(), cmap="gray", vmin=0, vmax=1, interpolation="nearest"
    )


def draw_heat(
    axes: Axes,
    image: Tensor,
    heat: Tensor,
    title: str = "",
    *,
    limits: tuple[float, float] | None = None,
    colours: str = HEAT,
    opacity: float | Tensor = 0.6,
) -> AxesImage:
    """Heat over an image that has gone grey; laid out over all of it. (C, H, W), (h, w)"""
    height, width = image.shape[1:]
    draw_picture(axes, image.mean(0, keepdim=True), title)
    low, high = limits or (float(heat.min()), float(heat.max()))
    return axes.imshow(
        heat.numpy(),
        cmap=colours,
        alpha=opacity if isinstance(opacity, float) else opacity.numpy(),
        vmin=low,
        vmax=high if high > low else low + 1,
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        interpolation="nearest",
    )


def enlarge(heat: Tensor, height: int, width: int) -> Tensor:
    """A map of a layer's places at the resolution of the image, bicubic. (h, w) -> (H, W)"""
    enlarged = interpolate(
        heat[None, None], size=(height, width), mode="bicubic", align_corners=False
    )
    return enlarged[0, 0].clamp(float(heat.min()), float(heat.max()))


def montage(panels: Tensor, columns: int) -> Tensor:
    """Panels in rows, enlarged pixel by pixel, pale blue around them. (N, C, h, w) -> (3, H, W)"""
    enlarged = -(-_PANEL // panels.shape[2])
    panels = panels.expand(-1, 3, -1, -1)
    panels = panels.repeat_interleave(enlarged, 2).repeat_interleave(enlarged, 3)
    count, channels, height, width = panels.shape
    rows, gap = -(-count // columns), max(2, height // 16)
    size = rows * (height + gap) + gap, columns * (width + gap) + gap
    sheet = torch.tensor(_AROUND).view(channels, 1, 1).repeat(1, *size)
    for number, panel in enumerate(panels):
        top = gap + number // columns * (height + gap)
        left = gap + number % columns * (width + gap)
        sheet[:, top : top + height, left : left + width] = panel
    return sheet
