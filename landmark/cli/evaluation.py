"""`landmark evaluate`: how good a run is at what it was trained for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.image.evaluation import evaluate_images
from landmark.cli.options import (
    Beam,
    Checkpoint,
    Device,
    Ensemble,
    Json,
    LengthPenalty,
    RunFolder,
    To,
)
from landmark.cli.translation.evaluation import Options, evaluate_translator
from landmark.cli.translation.sentences import Reference, Source
from landmark.cli.understanding.evaluation import evaluate_understanding
from landmark.core.errors import UserError

_TAKES = {
    "image-classification": "--split, --file, --ten-crop, --strict and --confusion",
    "understanding": "--split and --file",
}


def evaluate(
    run: RunFolder,
    split: Annotated[
        list[str] | None,
        typer.Option(help="Splits of the run's data; default: test. Embedded: also depth-1 … 6."),
    ] = None,
    source: Source = None,
    reference: Reference = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="Labelled examples, or a folder of images with a folder a class."),
    ] = None,
    ten_crop: Annotated[
        bool, typer.Option("--ten-crop", help="Images: look at ten parts of each, not its middle.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Images: one that cannot be read ends it.")
    ] = False,
    confusion: Annotated[
        Path | None, typer.Option(help="Images: draw which class is taken for which to this file.")
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(help="Make long sentences: join N (or N-M) consecutive pairs to one, 1 to 6."),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    ensemble: Ensemble = None,
    engine: Annotated[
        str,
        typer.Option(help="torch, or an export: ctranslate2, ctranslate2-int8, onnx; or compiled."),
    ] = "torch",
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Other runs, or files of translations, to test the run against."),
    ] = None,
    test: Annotated[
        str, typer.Option(help="With --against: paired bootstrap or randomization.")
    ] = "bootstrap",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Resamples for the 95 % intervals; 0 leaves them out.")
    ] = 1000,
    by_length: Annotated[
        Path | None, typer.Option(help="Draw BLEU by source length to this file.")
    ] = None,
    bin_words: Annotated[int, typer.Option(min=1, help="With --by-length: words a bin.")] = 5,
    to: To = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the translations here, a sentence a line.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Score a run on what it has never seen.

    Translations by BLEU, chrF and TER (sacrebleu) and exact match; images by top-1 and top-5
    accuracy and by class; labels, numbers, tags and answers by what their tasks are scored by.
    Intervals are of 95 %.
    """
    task = _task(run)
    _refuse(
        task,
        {"--source": source, "--reference": reference, "--join": join, "--beam": beam,
         "--length-penalty": length_penalty, "--ensemble": ensemble, "--against": against,
         "--to": to, "--by-length": by_length, "--output": output},
        {"--ten-crop": ten_crop, "--strict": strict, "--confusion": confusion},
        {"--file": file},
    )  # fmt: skip
    if task == "image-classification":
        evaluate_images(
            run, split, file, ten_crop, strict, confusion, engine, as_json, checkpoint, device
        )
    elif task == "understanding":
        evaluate_understanding(run, split, file, bootstrap, as_json, checkpoint, device)
    else:
        options = Options(
            split, source, reference, join, beam, length_penalty, ensemble, engine, against, test,
            bootstrap, by_length, bin_words, to, output, as_json, checkpoint, device,
        )  # fmt: skip
        evaluate_translator(run, options)


def _task(run: Path) -> str:
    """What a run was trained for; of what is no run, translators say so."""
    from landmark.engine.run import RECIPE, Run

    return str(Run(run).read_recipe().get("task")) if (run / RECIPE).is_file() else "translation"


def _refuse(
    task: str,
    of_translators: Mapping[str, object],
    of_images: Mapping[str, object],
    of_examples: Mapping[str, object],
) -> None:
    """Refuse options that are for runs of another kind."""
    for name, value in of_translators.items():
        if value and task in _TAKES:
            raise UserError(f"{name}: is for translators; this run takes {_TAKES[task]}")
    for name, value in of_images.items():
        if value and task != "image-classification":
            raise UserError(f"{name}: is for runs on images")
    for name, value in of_examples.items():
        if value and task not in _TAKES:
            raise UserError(f"{name}: a translator is scored on --source and --reference")
