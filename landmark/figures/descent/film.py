"""Lines that grow step by step, and films of how they grow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from landmark.figures.gif import as_gif

FRAMES, FRAME_MILLISECONDS, LAST_MILLISECONDS = 90, 70, 3000
FILM_DOTS_PER_INCH = 72
Style = str | tuple[int, tuple[int, int]]
"""Of a line: "-", or where its dashes begin and how long they and the gaps are."""


@dataclass(frozen=True)
class Trace:
    """A line with a dot at its end, one point a step."""

    line: Line2D
    head: Line2D
    xs: Sequence[float]
    ys: Sequence[float]

    def show(self, points: int) -> None:
        """The first points alone."""
        self.line.set_data(self.xs[:points], self.ys[:points])
        self.head.set_data(self.xs[:points][-1:], self.ys[:points][-1:])


def trace(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], colour: str, style: Style, label: str
) -> Trace:
    """Draw a line that can grow."""
    (line,) = axes.plot(
        xs, ys, color=colour, linestyle=style, linewidth=1.5, label=label, solid_joinstyle="round"
    )
    (head,) = axes.plot(
        xs[-1:], ys[-1:], "o", color=colour, markersize=4.5, markeredgecolor="white", zorder=6
    )
    return Trace(line, head, xs, ys)


def film_of(figure: Figure, traces: Sequence[Trace]) -> bytes:
    """A GIF in which the lines grow, and which stops when they are whole."""
    return as_gif(_frames(figure, traces), FRAME_MILLISECONDS, LAST_MILLISECONDS)


def frame_points(longest: int) -> list[int]:
    """How many points each frame shows: first steps one by one, later ones ever more at a time."""
    shares = np.linspace(0, 1, FRAMES) ** 1.7
    return sorted({1 + round(share * (longest - 1)) for share in shares.tolist()})


def _frames(figure: Figure, traces: Sequence[Trace]) -> list[Image.Image]:
    """What stays is drawn once; each frame adds the lines as far as they have come."""
    figure.set_dpi(FILM_DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    artists = [artist for one in traces for artist in (one.line, one.head)]
    for artist in artists:
        artist.set_animated(True)
    canvas.draw()
    still = canvas.copy_from_bbox(figure.bbox)
    pictures = []
    for points in frame_points(max(len(one.xs) for one in traces)):
        canvas.restore_region(still)
        for one in traces:
            one.show(points)
        for artist in artists:
            figure.draw_artist(artist)
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    return pictures
