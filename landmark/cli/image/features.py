"""`landmark features`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.image.classify import ImagePaths
from landmark.cli.image.similar import warn_of_broken
from landmark.cli.options import Checkpoint, Device, RunFolder
from landmark.cli.tally import Tally


def features(
    run: RunFolder,
    images: ImagePaths,
    output: Annotated[
        Path | None,
        typer.Option(help="A .npy file for the vectors, a row each; none: JSON to stdout."),
    ] = None,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Give what a network's last layer reads of images: a vector each. Folders: all in them."""
    from landmark.core.errors import UserError
    from landmark.pipelines.image.similarity import all_features, list_images
    from landmark.pipelines.loading import load

    if output and output.suffix != ".npy":
        raise UserError(f"{output}: --output names a .npy file; JSON goes to stdout without it")
    total = sum(len(list_images(given)) if given.is_dir() else 1 for given in images)
    pipeline = load(run, checkpoint, device, task="image-classification")
    with Tally("looked at", total, unit="images") as tally:
        paths, vectors, broken = all_features(pipeline, images, tally.advance)
    warn_of_broken(broken)
    if output is None:
        for path, vector in zip(paths, vectors.tolist(), strict=True):
            print(json.dumps({"image": str(path), "vector": vector}, ensure_ascii=False))
        return
    import numpy as np

    with output.open("wb") as file:
        np.save(file, vectors)
    output.with_suffix(".tsv").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    print(output)
