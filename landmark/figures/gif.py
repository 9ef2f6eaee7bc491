"""Pictures one after another as an animated GIF."""

import io
from collections.abc import Sequence

from PIL import Image


def as_gif(pictures: Sequence[Image.Image], milliseconds: int, last_milliseconds: int) -> bytes:
    """A GIF that shows each picture for so long, the last one longer, and begins again."""
    # One palette for all frames, so that nothing flickers; k-means keeps the pale ground's colours.
    palette = pictures[-1].quantize(method=Image.Quantize.MAXCOVERAGE, kmeans=3)
    first, *others = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    times, content = [milliseconds] * len(others) + [last_milliseconds], io.BytesIO()
    first.save(content, "GIF", save_all=True, append_images=others, duration=times, loop=0)
    return content.getvalue()
