"""`landmark figure saliency` and `occlusion`: what of an image speaks for a class."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.image.layer import Image
from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from torch import Tensor

    from landmark.pipelines.inspection.viewer import ImageViewer

MOST_CLASSES = 10
_PARTS = 6  # of an image's side that a patch covers by default, and half of that its step


def saliency(
    run: RunFolder,
    image: Image = "valid:1",
    target: Annotated[
        list[str] | None,
        typer.Option("--class", help="A class; default: the three likeliest.", metavar="NAME"),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Whose maps; default: the last that has a say.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("saliency.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw which places of an image speak for a class (Grad-CAM)."""
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.evidence import save_saliency
    from landmark.probes.image.saliency import grad_cam, speaking_layer

    check_figure(output)
    viewer = open_viewer(run, checkpoint, device)
    view = viewer.view(image)
    believed = viewer.believe(view)
    numbers = _numbers(viewer, target, believed, 3)
    if len(numbers) > MOST_CLASSES:
        raise UserError(f"{len(numbers)} classes are too many for one picture: {MOST_CLASSES}")
    where = layer or speaking_layer(viewer.network, view.given, numbers[0])
    found = [
        (
            viewer.form.names[number],
            float(believed[number]),
            grad_cam(viewer.network, view.given, number, where),
        )
        for number in numbers
    ]
    save_saliency(view.shown, found, f"{run.name or run}, {view.name}: Grad-CAM at {where}", output)
    if as_json:
        classes = [
            {"class": name, "probability": probability, "map": heat.tolist()}
            for name, probability, heat in found
        ]
        print_json(figure=str(output), image=view.name, layer=where, classes=classes)
        return
    _print_truth(view.name, view.label)
    for name, probability, heat in found:
        height, width = heat.shape
        row, column = divmod(int(heat.argmax()), width)
        place = f"most at row {row + 1} of {height}, column {column + 1} of {width}"
        print(f"{name}  {probability:.1%}  {place if float(heat.max()) > 0 else 'nothing speaks'}")
    print(output)


def occlusion(
    run: RunFolder,
    image: Image = "valid:1",
    target: Annotated[
        str | None, typer.Option("--class", help="Default: the likeliest.", metavar="NAME")
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=1, help="Pixels a side of what covers; default: a sixth.")
    ] = None,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Pixels from one place to the next; default: half.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("occlusion.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw how much less a network believes in a class when a part of the image is covered."""
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.evidence import save_occlusion
    from landmark.probes.image.occlusion import occlude

    check_figure(output)
    viewer = open_viewer(run, checkpoint, device)
    view = viewer.view(image)
    (number,) = _numbers(viewer, [target] if target else None, viewer.believe(view), 1)
    name = viewer.form.names[number]
    size = size or max(1, viewer.side // _PARTS)
    found = occlude(viewer.network, view.given, number, size, stride or max(1, size // 2))
    save_occlusion(view.shown, found, name, f"{run.name or run}, {view.name}: occlusion", output)
    if as_json:
        print_json(
            figure=str(output), image=view.name, whole=found.whole, size=size, tops=found.tops,
            lefts=found.lefts, covered=found.covered.tolist(), **{"class": name},
        )  # fmt: skip
        return
    _print_truth(view.name, view.label)
    row, column = divmod(int(found.covered.argmin()), len(found.lefts))
    print(f"{name}  {found.whole:.1%}")
    print(
        f"least, {float(found.covered.min()):.1%}, with {size}x{size} pixels covered from row "
        f"{found.tops[row]}, column {found.lefts[column]}"
    )
    print(output)


def _numbers(
    viewer: "ImageViewer", names: list[str] | None, believed: "Tensor", count: int
) -> list[int]:
    """The classes that are named, or the likeliest."""
    if names:
        return [viewer.class_number(name) for name in dict.fromkeys(names)]
    likeliest: list[int] = believed.topk(min(count, len(believed))).indices.tolist()
    return likeliest


def _print_truth(name: str, label: str | None) -> None:
    if label is not None:
        print(f"{name} is of class {label}")
