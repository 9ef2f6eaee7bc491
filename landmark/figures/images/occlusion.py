"""Occlusion sensitivity: the class probability with a part of the image covered."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report
from landmark.figures.images.options import ImageOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure
    from torch import Tensor

    from landmark.probes.image.occlusion import Occlusion

_PARTS = 6  # of an image's side that a patch covers by default, and half of that its step


@settings
class Options(ImageOptions):
    """Which image, and what covers it."""

    class_: str | None = None
    """Class; default: the most probable."""
    size: Annotated[int, Field(ge=1)] | None = None
    """Side of the occluding patch in pixels; default: a sixth of the image's."""
    stride: Annotated[int, Field(ge=1)] | None = None
    """Stride of the patch in pixels; default: half of --size."""
    output: Path = Path("occlusion.png")
    """Output file."""


@dataclass(frozen=True)
class OcclusionMap:
    """An image, and the probability of one class with a patch at each place."""

    run: str
    image: str
    label: str | None
    """The image's class, where that is known."""
    shown: "Tensor"
    """(C, H, W) of 0 to 1"""
    name: str
    """The class that is asked for."""
    found: "Occlusion"

    def json(self) -> dict[str, Any]:
        return {
            "image": self.image,
            "whole": self.found.whole,
            "size": self.found.size,
            "tops": list(self.found.tops),
            "lefts": list(self.found.lefts),
            "covered": self.found.covered.tolist(),
            "class": self.name,
        }


def compute(options: Options, report: Report) -> OcclusionMap:
    """Cover the image at every place in turn."""
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.occlusion import occlude

    viewer = open_viewer(options.run, options.checkpoint, options.device)
    view = viewer.view(options.image)
    named = [options.class_] if options.class_ else []
    (number,) = viewer.class_numbers(named, viewer.believe(view), 1)
    size = options.size or max(1, viewer.side // _PARTS)
    stride = options.stride or max(1, size // 2)
    found = occlude(viewer.network, view.given, number, size, stride)
    name = viewer.form.names[number]
    return OcclusionMap(options.name, view.name, view.label, view.shown, name, found)


def table(record: OcclusionMap) -> list[str]:
    """The probability, and the place whose covering lowers it most."""
    lines = [f"{record.image} is of class {record.label}"] if record.label is not None else []
    found = record.found
    row, column = divmod(int(found.covered.argmin()), len(found.lefts))
    least = (
        f"least, {float(found.covered.min()):.1%}, with {found.size}x{found.size} pixels covered "
        f"from row {found.tops[row]}, column {found.lefts[column]}"
    )
    return [*lines, f"{record.name}  {found.whole:.1%}", least]


def draw(record: OcclusionMap) -> "Figure":
    """The worst patch on the image; the probability by place of the patch; the drop by pixel."""
    from landmark.figures.images.picture import draw_heat, draw_picture

    found = record.found
    figure, grid = style.panels(1, 3, size=(3.4, 3.3))
    covered, probabilities, drops = grid[0]
    row, column = divmod(int(found.covered.argmin()), len(found.lefts))
    draw_picture(covered, record.shown)
    _draw_patch(covered, found, row, column)
    said = f"{record.name}: {found.whole:.1%}, with this patch {float(found.covered.min()):.1%}"
    style.title(covered, said)
    shown = _draw_probabilities(probabilities, record)
    style.title(probabilities, f"probability with {found.size}x{found.size} pixels covered")
    bar = figure.colorbar(shown, ax=probabilities, shrink=0.75)
    bar.set_label(_text(f"probability of {record.name}, patch centred there"), fontsize=8)
    drop = found.drop(*record.shown.shape[1:])
    limit = max(float(drop.abs().max()), 1e-6)
    lost = draw_heat(drops, record.shown, drop, limits=(-limit, limit), colours=style.DIVERGING)
    style.title(drops, "drop in probability by pixel")
    bar = figure.colorbar(lost, ax=drops, shrink=0.75)
    bar.set_label("mean over all patches that cover the pixel", fontsize=8)
    style.heading(figure, f"{record.run}, {record.image}: occlusion")
    return figure


def _text(label: str) -> str:
    """A "$" in a class's name is no formula."""
    return label.replace("$", r"\$")


def _draw_patch(axes: "Axes", found: "Occlusion", row: int, column: int) -> None:
    """To scale, in the grey that the mean colour is near to."""
    from matplotlib.patches import Rectangle

    corner = found.lefts[column] - 0.5, found.tops[row] - 0.5
    axes.add_patch(
        Rectangle(
            corner, found.size, found.size, facecolor="0.5", edgecolor=style.colour(1), linewidth=2
        )
    )


def _draw_probabilities(axes: "Axes", record: OcclusionMap) -> "QuadMesh":
    """Over the grey image: a cell a place of the patch, around the patch's middle."""
    from landmark.figures.images.picture import draw_picture

    found = record.found
    draw_picture(axes, record.shown.mean(0, keepdim=True)).set_alpha(0.5)
    limits = axes.get_xlim(), axes.get_ylim()
    across, down = (_edges(starts, found.size) for starts in (found.lefts, found.tops))
    low, high = float(found.covered.min()), max(found.whole, float(found.covered.max()))
    mesh = axes.pcolormesh(
        across, down, found.covered.numpy(), cmap=style.SEQUENTIAL, alpha=0.6,
        vmin=low, vmax=max(high, low + 1e-6), linewidth=0,
    )  # fmt: skip
    axes.set(xlim=limits[0], ylim=limits[1])
    return mesh


def _edges(starts: Sequence[int], size: int) -> list[float]:
    """Where the cells of places begin and end: halfway between the middles of patches."""
    middles = [start + (size - 1) / 2 for start in starts]
    between = [(one + other) / 2 for one, other in pairwise(middles)]
    half = (middles[1] - middles[0]) / 2 if between else size / 2
    return [middles[0] - half, *between, 2 * middles[-1] - (between or [middles[-1] - half])[-1]]
