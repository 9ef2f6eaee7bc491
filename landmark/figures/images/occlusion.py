"""How much less a network believes in a class when a part of the image is covered."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report
from landmark.figures.images.options import ImageOptions

if TYPE_CHECKING:
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
    """The image; the probability with a patch at each place; what each pixel is worth."""
    from landmark.figures.images.picture import draw_heat, draw_picture

    found = record.found
    figure, grid = style.panels(1, 3, size=(3.4, 3.3))
    first, second, third = grid[0]
    draw_picture(first, record.shown, f"{record.name}, {found.whole:.1%}")
    covered = second.imshow(found.covered.numpy(), cmap=style.SEQUENTIAL, vmin=0, vmax=1)
    style.title(second, f"probability with {found.size}x{found.size} pixels covered there")
    _number(second, found)
    figure.colorbar(covered, ax=second, shrink=0.8)
    drop = found.drop(*record.shown.shape[1:])
    limit = max(float(drop.abs().max()), 1e-6)
    lost = draw_heat(
        third, record.shown, drop, "what is lost with a pixel, in the mean",
        limits=(-limit, limit), colours=style.DIVERGING,
    )  # fmt: skip
    figure.colorbar(lost, ax=third, shrink=0.8)
    style.heading(figure, f"{record.run}, {record.image}: occlusion")
    return figure


def _number(axes: Any, found: "Occlusion") -> None:
    """Patches by the pixels they begin at."""
    across, down = (range(0, len(s), max(1, len(s) // 6)) for s in (found.lefts, found.tops))
    axes.set_xticks(across, [str(found.lefts[n]) for n in across])
    axes.set_yticks(down, [str(found.tops[n]) for n in down])
    axes.set(xlabel="first column covered", ylabel="first row covered")
    axes.tick_params(labelsize=7)
