"""`landmark figure alignments`, `exposure` and `sizes`: translators beside each other."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.options import Beam, Device, Json, To
from landmark.cli.translation.sentences import Reference, Source, check_sentences, read_sets

if TYPE_CHECKING:
    from landmark.tasks.translation.alignment import AttentionChoice
    from landmark.tasks.translation.pipeline import TranslationPipeline
    from landmark.tasks.translation.size import SizedScore

Runs = Annotated[list[Path], typer.Argument(help="Run directories of translators.")]
Split = Annotated[str | None, typer.Option(help="A split of the runs' own data; default: test.")]
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
    from landmark.plots.alignment import save_alignments
    from landmark.plots.figure import check_figure
    from landmark.tasks.translation.alignment import align_pairs, default_choice

    if target is not None and source is None:
        raise UserError("--target needs --source")
    for option, text in (("--source", source), ("--target", target)):
        if text is not None and not text.strip():
            raise UserError(f"{option} is empty: give a sentence")
    check_figure(output)
    drawn, facts = {}, []
    for name, pipeline in _load(runs, device):
        said, own = (source, target) if source else _example(pipeline)
        own = own or pipeline.translate([said])[0].text
        choice = default_choice(pipeline)
        (found,) = align_pairs(pipeline, [(said, own)], choice)
        rate = _error_rate(pipeline, choice)
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
    split: Split = None,
    source: Source = None,
    reference: Reference = None,
    output: Output = Path("exposure.png"),
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Draw how often the next token is right after the right words, and after a run's own."""
    from landmark.plots.exposure import save_exposure
    from landmark.plots.figure import check_figure
    from landmark.tasks.translation.exposure import measure_pairs

    splits = [split] if split else None
    check_sentences(splits, source, reference)
    check_figure(output)
    measured = {}
    for name, pipeline in _load(runs, device):
        (pairs,) = read_sets(pipeline, splits, source, reference).values()
        measured[name], left_out = measure_pairs(pipeline, pairs)
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


def sizes(
    runs: Runs,
    split: Split = None,
    source: Source = None,
    reference: Reference = None,
    beam: Beam = None,
    to: To = None,
    output: Output = Path("sizes.png"),
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Draw how good translators are against how many parameters they have, network by network."""
    from landmark.cli.tally import Tally
    from landmark.core.errors import UserError
    from landmark.plots.figure import check_figure
    from landmark.plots.size import save_sizes
    from landmark.tasks.translation.size import check_same_data, score_sizes

    if len(runs) < 2:
        raise UserError(f"{runs[0]}: sizes compares runs: give at least two")
    splits = [split] if split else None
    check_sentences(splits, source, reference)
    check_figure(output)
    pipelines = dict(_load(runs, device))
    check_same_data(list(pipelines.values()))
    judge = next(iter(pipelines.values()))
    ((name, pairs),) = read_sets(judge, splits, source, reference, to).items()
    with Tally("translated", len(pairs) * len(runs)) as tally:
        scored = score_sizes(pipelines, pairs, beam, to, tally.advance)
    save_sizes(scored, f"{Path(name).name}: {len(pairs):,} sentences", output)
    if as_json:
        print(json.dumps([_size_record(entry) for entry in scored], ensure_ascii=False, indent=2))
        return
    _print_sizes(scored)
    print(output)


def _size_record(entry: "SizedScore") -> dict[str, Any]:
    return {
        "run": entry.run,
        "network": entry.network,
        "parameters": entry.parameters,
        "bleu": entry.bleu.value,
        "interval": entry.bleu.interval,
        "signature": entry.bleu.signature,
        "minutes": entry.minutes,
    }


def _print_sizes(scored: "list[SizedScore]") -> None:
    width = max(24, *(len(entry.run) + 2 for entry in scored))
    print(f"{'run':<{width}}{'network':<14}{'parameters':>14}{'BLEU':>16}{'minutes':>10}")
    for entry in scored:
        bleu = f"{entry.bleu.value:.2f} ± {entry.bleu.interval:.2f}"
        minutes = "-" if entry.minutes is None else f"{entry.minutes:.1f}"
        print(
            f"{entry.run:<{width}}{entry.network:<14}{entry.parameters:>14,}{bleu:>16}{minutes:>10}"
        )
    print(f"BLEU: {scored[0].bleu.signature}")


def _load(runs: list[Path], device: str) -> "list[tuple[str, TranslationPipeline]]":
    """The runs by name, or by path where two have one name; each once."""
    from landmark.core.errors import UserError
    from landmark.tasks.loading import load

    places, names = [run.resolve() for run in runs], [run.name for run in runs]
    loaded = []
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{run}: is given twice")
        name = run.name if run.name and names.count(run.name) == 1 else str(run)
        loaded.append((name, load(run, None, device, task="translation")))
    return loaded


def _example(pipeline: "TranslationPipeline") -> tuple[str, str | None]:
    """The lectures' sentence in the language that a run reads; its translation if that is known."""
    from landmark.data.embedded import corpus

    example, data = corpus.example(), pipeline.config.data
    source, target = example.source, example.target
    if data.reverse:
        source, target = target, source
    return source, target if data.corpus == "embedded" else None


def _error_rate(pipeline: "TranslationPipeline", choice: "AttentionChoice") -> float | None:
    """Against gold alignments of test sentences; the choice was made on others."""
    from landmark.tasks.translation.alignment import GOLD_PAIRS, gold_pairs, try_choices

    if pipeline.config.data.corpus != "embedded":
        return None
    trials = try_choices(pipeline, gold_pairs(pipeline, GOLD_PAIRS, "test"))
    return next(trial.score.error_rate for trial in trials if trial.choice == choice)
