"""Grad-CAM and SmoothGrad: where an image shows evidence for a class, by place and by pixel."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report
from landmark.figures.images.options import ImageOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

MOST_CLASSES = 10
_STRONGEST = 99  # the percentile of the map that has the brightest colour


@settings
class Options(ImageOptions):
    """Which image, which classes."""

    class_: tuple[str, ...] = ()
    """Class, repeatable; default: the three most probable."""
    layer: str | None = None
    """Layer whose feature maps are used; default: the last that influences the output."""
    output: Path = Path("saliency.png")
    """Output file."""


@dataclass(frozen=True)
class ClassMap:
    """What speaks for one class."""

    name: str
    probability: float
    heat: "Tensor"
    """Grad-CAM. (h, w)"""
    pixels: "Tensor"
    """SmoothGrad. (H, W)"""


@dataclass(frozen=True)
class Saliency:
    """An image, and the places that speak for some classes."""

    run: str
    image: str
    label: str | None
    """The image's class, where that is known."""
    shown: "Tensor"
    """(C, H, W) of 0 to 1"""
    layer: str
    classes: list[ClassMap]

    def json(self) -> dict[str, Any]:
        classes = [
            {"class": one.name, "probability": one.probability, "map": one.heat.tolist()}
            for one in self.classes
        ]
        return {"image": self.image, "layer": self.layer, "classes": classes}


def compute(options: Options, report: Report) -> Saliency:
    """Take the gradients of each class's score."""
    from landmark.core.errors import UserError
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.saliency import grad_cam, smooth_grad, speaking_layer

    viewer = open_viewer(options.run, options.checkpoint, options.device)
    view = viewer.view(options.image)
    believed = viewer.believe(view)
    numbers = viewer.class_numbers(options.class_, believed, 3)
    if len(numbers) > MOST_CLASSES:
        raise UserError(f"{len(numbers)} classes are too many for one picture: {MOST_CLASSES}")
    layer = options.layer or speaking_layer(viewer.network, view.given, numbers[0])
    found = [
        ClassMap(
            viewer.form.names[number],
            float(believed[number]),
            grad_cam(viewer.network, view.given, number, layer),
            smooth_grad(viewer.network, view.given, number),
        )
        for number in numbers
    ]
    return Saliency(options.name, view.name, view.label, view.shown, layer, found)


def table(record: Saliency) -> list[str]:
    """Of each class, its probability and the place that says most."""
    lines = [f"{record.image} is of class {record.label}"] if record.label is not None else []
    for one in record.classes:
        height, width = one.heat.shape
        row, column = divmod(int(one.heat.argmax()), width)
        place = f"most at row {row + 1} of {height}, column {column + 1} of {width}"
        said = place if float(one.heat.max()) > 0 else "nothing speaks"
        lines.append(f"{one.name}  {one.probability:.1%}  {said}")
    return lines


def draw(record: Saliency) -> "Figure":
    """A column a class: Grad-CAM at the image's resolution, the same over the image, SmoothGrad."""
    from landmark.figures.images.picture import HEAT, draw_heat, draw_picture, enlarge

    figure, grid = style.panels(3, len(record.classes) + 1, size=(2.3, 2.4))
    for axes in grid.flat:
        axes.set_axis_off()
    draw_picture(grid[0, 0], record.shown, "image")
    height, width = record.shown.shape[1:]
    for one, (place, over, pixels) in zip(record.classes, grid.T[1:], strict=True):
        heat = _scaled(enlarge(one.heat, height, width))
        for axes, values in ((place, heat), (pixels, _scaled(one.pixels))):
            shown = axes.imshow(values.numpy(), cmap=HEAT, vmin=0, vmax=1, interpolation="nearest")
        draw_heat(over, record.shown, heat, limits=(0, 1), opacity=0.8 * heat)
        style.title(place, f"{one.name}, {one.probability:.1%}", 8)
    figure.colorbar(
        shown, ax=grid[:, -1], shrink=0.5,
        label=f"share of the map's percentile {_STRONGEST}; each map for itself",
    )  # fmt: skip
    rows, columns = record.classes[0].heat.shape
    above = f"above: Grad-CAM at {record.layer},\n{columns}x{rows} places,\nbicubic"
    for axes, said in (
        (grid[1, 0], f"{above}\n\nhere: the same\nover the image"),
        (grid[2, 0], f"SmoothGrad:\nthe gradient by\n{width}x{height} pixels"),
    ):
        axes.text(0.95, 0.5, said, ha="right", va="center", fontsize=8, transform=axes.transAxes)
    style.heading(figure, f"{record.run}, {record.image}: what speaks for a class")
    return figure


def _scaled(heat: "Tensor") -> "Tensor":
    """Each map in its own scale: 1 is the percentile, so that a few bright places hide no other."""
    import torch

    strongest = torch.quantile(heat.flatten(), _STRONGEST / 100)
    return (heat / strongest.clamp(min=1e-12)).clamp(0, 1)
