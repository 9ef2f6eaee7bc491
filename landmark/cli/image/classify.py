"""`landmark classify`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.pipelines.image.classification import Classified

ImagePaths = Annotated[list[Path], typer.Argument(help="Image files.")]


def classify(
    run: RunFolder,
    images: ImagePaths,
    top: Annotated[int, typer.Option(min=1, help="How many classes to name.")] = 5,
    ten_crop: Annotated[
        bool, typer.Option("--ten-crop", help="Look at ten parts of each image, not its middle.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the images with their classes to this file.")
    ] = None,
    as_json: Json = False,
    engine: Annotated[
        str, typer.Option(help="torch, compiled, or onnx: the run's export (landmark export).")
    ] = "torch",
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Name what is in images: their most probable classes."""
    from landmark.core.errors import UserError
    from landmark.data.images.reading import in_one_line
    from landmark.pipelines.loading import load

    if figure:
        from landmark.plots.figure import check_figure

        check_figure(figure)
    pipeline = load(run, checkpoint, device, engine=engine, task="image-classification")
    found: list[Classified] = []
    broken: list[UserError] = []
    for one in pipeline.look(images, top, ten_crop=ten_crop):
        if isinstance(one, UserError):
            broken.append(one)
        else:
            print(_record(one) if as_json else _lines(one))
            found.append(one)
    if figure and found:
        from landmark.plots.image.classified import save_classified

        save_classified(found, figure, [_label(one.place, pipeline.form.names) for one in found])
        if not as_json:
            print(figure)
    if broken:
        raise UserError(in_one_line(broken))


def _label(place: str, names: Sequence[str]) -> str | None:
    """The class of an image that lies in a folder of that name."""
    name = Path(place).resolve().parent.name
    return name if name in names else None


def _record(one: "Classified") -> str:
    classes = [guess._asdict() for guess in one.guesses]
    return json.dumps({"image": one.place, "classes": classes}, ensure_ascii=False)


def _lines(one: "Classified") -> str:
    rows = [f"{100 * guess.probability:7.2f} %  {guess.name}" for guess in one.guesses]
    return "\n".join([one.place, *rows])
