"""`landmark evaluate`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Beam, Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.pipelines.evaluation import Evaluation
    from landmark.pipelines.translation import TranslationPipeline


def evaluate(
    run: RunFolder,
    split: Annotated[
        list[str] | None, typer.Option(help="Splits of the run's data; default: test.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Sentences to translate …")] = None,
    reference: Annotated[Path | None, typer.Option(help="… and their translations.")] = None,
    beam: Beam = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the translations here, a sentence a line.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Score a run on text it has never seen: BLEU and chrF by sacrebleu, exact match."""
    from landmark.core.errors import UserError
    from landmark.data.parallel_text import read_pairs
    from landmark.pipelines.evaluation import evaluate as evaluate_pairs
    from landmark.pipelines.evaluation import split_pairs
    from landmark.pipelines.loading import load

    if bool(source) != bool(reference):
        raise UserError("--source and --reference go together")
    if source and split:
        raise UserError("give --split or --source and --reference, not both")
    pipeline = load(run, checkpoint, device)
    if output:
        output.open("a").close()  # a place that cannot be written shows before the work
    if source and reference:
        sets = {str(source): list(read_pairs([str(source)], [str(reference)]))}
    else:
        sets = {name: split_pairs(pipeline, name) for name in split or ["test"]}
    results = [evaluate_pairs(pipeline, name, pairs, beam) for name, pairs in sets.items()]
    if output:
        text = "".join(f"{line}\n" for result in results for line in result.hypotheses)
        output.write_text(text, encoding="utf-8")
    print_evaluations(pipeline, results, as_json)


def print_evaluations(
    pipeline: "TranslationPipeline", results: "list[Evaluation]", as_json: bool = False
) -> None:
    """Scores as a table, signatures below; or as JSON."""
    if as_json:
        record = {
            "run": str(pipeline.run.folder),
            "checkpoint": pipeline.checkpoint.name,
            "sets": [
                {"name": r.name, "sentences": len(r.sources), "scores": [vars(s) for s in r.scores]}
                for r in results
            ],
        }
        print(json.dumps(record, indent=2))
        return
    names = [score.name for score in results[0].scores]
    print(f"{'set':<24}{'sentences':>10}" + "".join(f"{name:>14}" for name in names))
    for result in results:
        values = "".join(f"{score.value:>14.2f}" for score in result.scores)
        print(f"{result.name:<24}{len(result.sources):>10,}{values}")
    for score in results[0].scores[:-1]:
        print(f"{score.name}: {score.signature}")
