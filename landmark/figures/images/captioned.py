"""Where a captioner looks for each word, as Show, Attend and Tell's figures 2 and 5.

`landmark caption --figure`: each image with its caption, then the image once for every word, bright
where the network looks for it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.images.classified import draw_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from landmark.data.images.decoding import Pixels

_ACROSS = 6  # panels in a row
_MOST = 12  # images in a figure
_DARKEST = 0.25  # what is left of the image where the network does not look


def write(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """The captions that `landmark caption` found; of many, the first ones."""
    side = pipeline.side
    shown = records[:_MOST]
    rows = [-(-(len(one.words) + 1) // _ACROSS) for one in shown]
    figure, grid = style.panels(sum(rows), _ACROSS, size=(1.5, 1.75))
    for axes in grid.flat:
        axes.set_axis_off()
    top = 0
    for one, count in zip(shown, rows, strict=True):
        panels = list(grid[top : top + count].flat)
        pixels = center(one.pixels, side)
        draw_pixels(panels[0], pixels, Path(one.image).name)
        for axes, word in zip(panels[1:], one.words, strict=False):
            draw_word(axes, pixels, word)
        top += count
    if len(shown) == 1:
        style.heading(figure, shown[0].text)
    save_picture(figure, path)


def center(pixels: "Pixels", side: int) -> "Pixels":
    """The part of an image that the network reads."""
    from landmark.data.images.form import center_crop

    return center_crop(pixels, side)


def draw_word(axes: "Axes", pixels: "Pixels", word: Any) -> None:
    """An image, dark but for where the network looks for a word; the word underlined above it."""
    light = brightness(word.attention, pixels.shape[0])
    shown = (pixels * (_DARKEST + (1 - _DARKEST) * light[..., None])).astype(np.uint8)
    draw_pixels(axes, shown, "")
    axes.set_title(word.text, fontsize=9, parse_math=False, pad=5)
    width = min(0.9, 0.09 * len(word.text))
    ends = (0.5 - width / 2, 0.5 + width / 2)
    axes.plot(
        ends, (1.03, 1.03), color=style.COLOURS[1], linewidth=1.5, transform=axes.transAxes,
        clip_on=False,
    )  # fmt: skip


def brightness(attention: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Attention over an image as light from 0 to 1, smooth from place to place."""
    spread = float(attention.max() - attention.min())
    if spread < 1e-6:  # it looks everywhere alike
        return np.ones((side, side), np.float32)
    scaled = (attention - attention.min()) / spread
    image = Image.fromarray(scaled.astype(np.float32)).resize(
        (side, side), Image.Resampling.BICUBIC
    )
    return np.clip(np.asarray(image, np.float32), 0, 1)
