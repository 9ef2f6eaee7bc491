"""`landmark export`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.options import Checkpoint, RunFolder


def export(
    run: RunFolder,
    to: Annotated[
        str, typer.Option(help="The format: ctranslate2, onnx or hf; of image networks: onnx.")
    ],
    int8: Annotated[
        bool, typer.Option("--int8", help="Weights in 8 bits: a quarter of the size, faster.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="The folder; default: RUN/export/ and the format's name.")
    ] = None,
    checkpoint: Checkpoint = None,
) -> None:
    """Write a run's model for another library, with what using it needs; prints the folder."""
    # Before torch is there: what its exporter murmurs about shapes is not for a user.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from landmark.cli.progress import Downloads
    from landmark.engine.run import Run
    from landmark.pipelines.image.exported import export_network
    from landmark.pipelines.translation.exported import export_run
    from landmark.recipes.image_classification import ImageClassificationRun
    from landmark.recipes.training import load_config

    opened = Run.open(run)
    config = load_config(opened)
    if isinstance(config, ImageClassificationRun):
        print(export_network(opened, config, to, int8=int8, output=output, checkpoint=checkpoint))
    else:
        report = Downloads().report
        print(export_run(run, to, int8=int8, output=output, checkpoint=checkpoint, report=report))
