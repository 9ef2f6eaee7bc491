"""Which places of an image speak for a class: Grad-CAM."""

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
_ACROSS = 6  # panels in a row


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
    """(h, w)"""


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
    from landmark.probes.image.saliency import grad_cam, speaking_layer

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
    """The image, then for each class the places that speak for it; each in its own scale."""
    from landmark.figures.images.picture import draw_heat, draw_picture

    count = len(record.classes) + 1
    across = min(_ACROSS, count)
    figure, grid = style.panels(-(-count // across), across, size=(2.4, 2.7))
    for axes in grid.flat:
        axes.set_axis_off()
    first, *rest = grid.flat
    draw_picture(first, record.shown, "image")
    for axes, one in zip(rest, record.classes, strict=False):
        title, limits = f"{one.name}, {one.probability:.1%}", (0, float(one.heat.max()))
        draw_heat(axes, record.shown, one.heat, title, limits=limits)
    style.heading(figure, f"{record.run}, {record.image}: Grad-CAM at {record.layer}")
    return figure
