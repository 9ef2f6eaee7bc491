"""`landmark evaluate`: how good a run is at what it was trained for."""

from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.image.evaluation import evaluate_images, is_classifier
from landmark.cli.image.evaluation import refuse as refuse_for_images
from landmark.cli.options import (
    Beam,
    Checkpoint,
    Device,
    Engine,
    Json,
    LengthPenalty,
    RunFolder,
    To,
)
from landmark.cli.translation.evaluation import Options, evaluate_translator
from landmark.cli.translation.sentences import Reference, Source
from landmark.cli.understanding.evaluation import (
    evaluate_understanding,
    is_understanding,
    refuse,
)
from landmark.core.errors import UserError


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
    confusion: Annotated[
        Path | None, typer.Option(help="Images: draw which class is taken for which to this file.")
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(help="Make long sentences: join N (or N-M) consecutive pairs to one, 1 to 6."),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    engine: Engine = "torch",
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
    chosen: dict[str, object] = {"--source": source, "--reference": reference, "--join": join}
    chosen |= {"--beam": beam, "--length-penalty": length_penalty, "--against": against}
    chosen |= {"--to": to, "--by-length": by_length, "--output": output}
    if is_classifier(run):
        refuse_for_images(chosen)
        evaluate_images(run, split, file, ten_crop, confusion, engine, as_json, checkpoint, device)
        return
    if ten_crop or confusion:
        raise UserError(f"{'--ten-crop' if ten_crop else '--confusion'}: is for runs on images")
    if is_understanding(run):
        refuse(chosen)
        evaluate_understanding(run, split, file, bootstrap, as_json, checkpoint, device)
        return
    if file:
        raise UserError("--file: a translator is scored on --source and --reference")
    evaluate_translator(
        run,
        Options(
            split, source, reference, join, beam, length_penalty, engine, against, test, bootstrap,
            by_length, bin_words, to, output, as_json, checkpoint, device,
        ),
    )  # fmt: skip
