"""`landmark similar`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.image.classify import ImagePaths
from landmark.cli.options import Checkpoint, Device, Json, RunFolder
from landmark.cli.tally import Tally

if TYPE_CHECKING:
    from landmark.pipelines.image.classification import ClassificationPipeline
    from landmark.pipelines.image.similarity import Broken, Neighbour


def similar(
    run: RunFolder,
    images: ImagePaths,
    among: Annotated[Path, typer.Option(help="The folder to look in, with those below it.")],
    count: Annotated[int, typer.Option(min=1, help="How many to find for each image.")] = 6,
    figure: Annotated[
        Path | None, typer.Option(help="Draw each image with those like it to this file.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Find images that are like others, by how near a network's last hidden layers are."""
    from landmark.pipelines.image.similarity import find_similar, list_images
    from landmark.pipelines.loading import load

    if figure:
        from landmark.plots.figure import check_figure

        check_figure(figure)
    total = len(list_images(among))
    pipeline = load(run, checkpoint, device, task="image-classification")
    with Tally("looked at", total, unit="images") as tally:
        found, broken = find_similar(pipeline, images, among, count, tally.advance)
    warn_of_broken(broken)
    for image, others in zip(images, found, strict=True):
        print(_record(image, others) if as_json else _lines(image, others))
    if figure:
        _draw(pipeline, images, found, figure)
        if not as_json:
            print(figure)


def warn_of_broken(broken: "Sequence[Broken]") -> None:
    """Name what was left out, a line each."""
    for one in broken:
        print(f"warning: {one.reason}: left out", file=sys.stderr)


def _record(image: Path, others: "Sequence[Neighbour]") -> str:
    near = [{"image": str(other.path), "distance": other.distance} for other in others]
    return json.dumps({"image": str(image), "similar": near}, ensure_ascii=False)


def _lines(image: Path, others: "Sequence[Neighbour]") -> str:
    return "\n".join([str(image), *(f"{near.distance:9.3f}  {near.path}" for near in others)])


def _draw(
    pipeline: "ClassificationPipeline",
    images: Sequence[Path],
    found: "Sequence[Sequence[Neighbour]]",
    figure: Path,
) -> None:
    from landmark.plots.image.classified import save_similar

    rows = [
        (pipeline.read(image), [(pipeline.read(near.path), near.path.name) for near in others])
        for image, others in zip(images, found, strict=True)
    ]
    save_similar(rows, figure)
