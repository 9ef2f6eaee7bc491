"""`landmark figure alignments` and `landmark figure exposure`: translators beside each other."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Device, Json

if TYPE_CHECKING:
    from landmark.pipelines.translation import TranslationPipeline

Runs = Annotated[list[Path], typer.Argument(help="Run directories of translators.")]
Output = Annotated[Path, typer.Option(help="The picture's file: .png, .svg or .pdf.")]


def alignments(
    runs: Runs,
    source: Annotated[
        str | None, typer.Option(help="A sentence; by default the lectures' “I ate an apple.”")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Its translation; by default each run's own.")
    ] = None,
    output: Output = Path("alignments.png"),
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Draw where each run looks while it translates a sentence; print error rates if known."""
    from landmark.core.errors import UserError
    from landmark.data.embedded import corpus
    from landmark.pipelines.alignment import align_pairs, default_choice
    from landmark.plots.alignment import save_alignments
    from landmark.plots.figure import check_figure

    if target and not source:
        raise UserError("--target needs --source")
    check_figure(output)
    example = corpus.example()
    pair = (source, target) if source else (example.source, example.target)
    drawn, facts = {}, []
    for name, pipeline in _load(runs, device):
        own = pair[1] or pipeline.translate([str(pair[0])])[0].text
        choice = default_choice(pipeline)
        (found,) = align_pairs(pipeline, [(str(pair[0]), own)], choice)
        rate = _error_rate(pipeline)
        shown = "" if rate is None else f"\nalignment error rate {100 * rate:.1f} %"
        drawn[f"{name}\n{choice}{shown}"] = found
        facts.append({"run": name, "attention": str(choice), "error_rate": rate, "target": own})
    save_alignments(drawn, output)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    for title in drawn:
        print(title.replace("\n", ": "))
    print(output)


def exposure(
    runs: Runs,
    split: Annotated[str, typer.Option(help="A split of the runs' own data.")] = "test",
    output: Output = Path("exposure.png"),
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Draw how often the next token is right after the right words, and after a run's own."""
    from landmark.pipelines.exposure import measure_split
    from landmark.plots.exposure import save_exposure
    from landmark.plots.figure import check_figure

    check_figure(output)
    measured = {}
    for name, pipeline in _load(runs, device):
        measured[name], left_out = measure_split(pipeline, split)
        if left_out:
            print(f"{name}: left out {left_out} pairs too long for the model", file=sys.stderr)
    save_exposure(measured, output)
    facts = {
        name: {"forced": found.forced_accuracy, "free": found.free_accuracy}
        for name, found in measured.items()
    }
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    print(f"{'run':<32}{'after right words':>20}{'after its own':>16}{'lost':>8}")
    for name, fact in facts.items():
        forced, free = 100 * fact["forced"], 100 * fact["free"]
        print(f"{name:<32}{forced:>18.2f} %{free:>14.2f} %{forced - free:>8.2f}")
    print(output)


def _load(runs: list[Path], device: str) -> "list[tuple[str, TranslationPipeline]]":
    """The runs by name, each once."""
    from landmark.core.errors import UserError
    from landmark.pipelines.loading import load

    loaded = []
    for run in runs:
        if runs.count(run) > 1:
            raise UserError(f"{run}: is given twice")
        loaded.append((run.name or str(run), load(run, None, device, task="translation")))
    return loaded


def _error_rate(pipeline: "TranslationPipeline") -> float | None:
    """Of the best layer and head against the embedded corpus's gold alignments."""
    from landmark.pipelines.alignment import GOLD_PAIRS, best, gold_pairs, try_choices

    if pipeline.config.data.corpus != "embedded":
        return None
    return best(try_choices(pipeline, gold_pairs(pipeline, GOLD_PAIRS))).score.error_rate
