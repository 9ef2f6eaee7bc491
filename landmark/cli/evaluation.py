"""`landmark evaluate`."""

import dataclasses
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

if TYPE_CHECKING:
    from landmark.data.parallel_text import Pair
    from landmark.metrics.translation import Comparison, LengthBin, Score
    from landmark.pipelines.evaluation import Evaluation
    from landmark.pipelines.translation import TranslationPipeline

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}


@dataclass(frozen=True)
class System:
    """A run, or another's translations, scored on every set."""

    name: str
    results: "list[Evaluation]"


@dataclass(frozen=True)
class Options:
    """How all systems translate and are scored."""

    beam: int | None
    length_penalty: float | None
    bootstrap: int
    language: str | None
    device: str


def evaluate(
    run: RunFolder,
    split: Annotated[
        list[str] | None,
        typer.Option(help="Splits of the run's data; default: test. Embedded: also depth-1 … 6."),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Sentences to translate …")] = None,
    reference: Annotated[Path | None, typer.Option(help="… and their translations.")] = None,
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
    """Score a run on text it has never seen: BLEU, chrF and TER by sacrebleu, exact match."""
    from landmark.core.errors import UserError
    from landmark.pipelines.loading import load

    if bool(source) != bool(reference):
        raise UserError("--source and --reference go together")
    if source and split:
        raise UserError("give --split or --source and --reference, not both")
    if test not in TESTS:
        raise UserError(f"--test {test}: give bootstrap or randomization")
    if bootstrap == 1:
        raise UserError("--bootstrap 1: one resample has no spread: give 0 or, say, 1000")
    _check_others(run, against or [])
    if by_length:
        from landmark.plots.figure import check_figure

        check_figure(by_length)
    counts = _joins(join or ["1"])
    pipeline = load(run, checkpoint, device, engine=engine)
    if output:
        output.open("a").close()  # a place that cannot be written shows before the work
    sets = _sets(pipeline, split or ["test"], source, reference, counts, to)
    options = Options(beam, length_penalty, bootstrap, to, device)
    systems = _score_systems(pipeline, against or [], sets, options)
    results = systems[0].results
    if output:
        text = "".join(f"{line}\n" for result in results for line in result.translations)
        output.write_text(text, encoding="utf-8")
    comparisons = _compare(systems, test, bootstrap) if against else []
    lengths = _by_length(systems, bootstrap, bin_words) if by_length else {}
    if as_json:
        _print_json(pipeline, systems, comparisons, lengths)
    else:
        if comparisons:
            _print_comparisons(systems, comparisons, TESTS[test])
        else:
            print_evaluations(pipeline, results)
        _print_lengths(lengths)
    if by_length:
        from landmark.plots.length import save_lengths

        save_lengths(lengths, by_length)


def _check_others(run: Path, against: Sequence[Path]) -> None:
    from landmark.core.errors import UserError

    names = [run, *against]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UserError(f"--against {name}: is given twice")
        if place and not name.exists():
            raise UserError(f"--against {name}: there is no such run, and no file of translations")


def _joins(words: Sequence[str]) -> list[int]:
    """The numbers that `2` and `2-6` stand for."""
    from landmark.core.errors import UserError
    from landmark.pipelines.evaluation import LARGEST_JOIN

    counts: list[int] = []
    for word in words:
        found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= LARGEST_JOIN:
            raise UserError(f"--join {word}: give a number from 1 to {LARGEST_JOIN}, or two: 2-4")
        counts += [number for number in range(first, last + 1) if number not in counts]
    return counts


def _sets(
    pipeline: "TranslationPipeline",
    splits: Sequence[str],
    source: Path | None,
    reference: Path | None,
    joins: Sequence[int],
    language: str | None,
) -> "dict[str, list[Pair]]":
    """The pairs to score, by the names of their sets."""
    from landmark.data.parallel_text import read_pairs
    from landmark.pipelines.evaluation import join_pairs, split_pairs

    if source and reference:
        plain = {str(source): list(read_pairs([str(source)], [str(reference)]))}
    else:
        plain = {name: split_pairs(pipeline, name, language) for name in splits}
    return {
        name if count == 1 else f"{name} ({count} joined)": join_pairs(pairs, count)
        for name, pairs in plain.items()
        for count in joins
    }


def _score_systems(
    pipeline: "TranslationPipeline",
    against: Sequence[Path],
    sets: "dict[str, list[Pair]]",
    options: Options,
) -> list[System]:
    """Translate all sets with every run (or read what others made of them), and score."""
    from landmark.cli.tally import Tally
    from landmark.pipelines.evaluation import read_translations, score, scored_form, translate_all
    from landmark.pipelines.loading import load

    sources = [pair[0] for pairs in sets.values() for pair in pairs]
    form = pipeline.target_form(options.language)
    # Both are opened first: what cannot be used shows before the work.
    read = {path: read_translations(path, len(sources)) for path in against if not path.is_dir()}
    runs = {path: load(path, None, options.device) for path in against if path.is_dir()}
    systems = []
    with Tally("translated", len(sources) * (1 + len(runs))) as tally:
        for name in [pipeline.run.folder, *against]:
            if name in read:
                texts = read[name]
                said = [form.read(text) for text in texts]
            else:
                speaker = runs.get(name, pipeline)
                chosen = options.beam, options.length_penalty, options.language
                found = translate_all(speaker, sources, *chosen, tally.advance)
                texts = [result.text for result in found]
                said = scored_form(pipeline, speaker, found, options.language)
            results, start = [], 0
            for title, pairs in sets.items():
                part = slice(start, start + len(pairs))
                scored = texts[part], said[part], options.bootstrap, options.language
                results.append(score(pipeline, title, pairs, *scored))
                start += len(pairs)
            systems.append(System(str(name), results))
    return systems


def _compare(
    systems: Sequence[System], test: Any, bootstrap: int
) -> "list[tuple[Evaluation, list[Comparison]]]":
    """Of each set, how the systems differ from the first."""
    from landmark.metrics.translation import compare_translations

    compared = []
    for number, result in enumerate(systems[0].results):
        said = [(system.name, system.results[number].hypotheses) for system in systems]
        samples = bootstrap if test == "bootstrap" else 0
        found = compare_translations(said, result.references, result.tokenized, test, samples)
        compared.append((result, found))
    return compared


def _by_length(
    systems: Sequence[System], bootstrap: int, width: int
) -> "dict[str, list[LengthBin]]":
    """All sets together, by the length of the source."""
    from landmark.metrics.translation import score_by_length

    return {
        system.name: score_by_length(
            [line for result in system.results for line in result.sources],
            [line for result in system.results for line in result.hypotheses],
            [line for result in system.results for line in result.references],
            system.results[0].tokenized,
            bootstrap,
            width,
        )
        for system in systems
    }


def print_evaluations(pipeline: "TranslationPipeline", results: "list[Evaluation]") -> None:
    """Scores as a table; what BLEU is made of and the signatures below."""
    names = [score.name for score in results[0].scores]
    width = max(24, *(len(result.name) + 2 for result in results))
    print(f"{'set':<{width}}{'sentences':>10}" + "".join(f"{name:>16}" for name in names))
    for result in results:
        values = "".join(f"{_value(score):>16}" for score in result.scores)
        print(f"{result.name:<{width}}{len(result.sources):>10,}{values}")
    for result in results:
        print(_bleu_line(result))
    for score in results[0].scores[:-1]:
        print(f"{score.name}: {score.signature}")


def _value(score: "Score") -> str:
    spread = "" if score.interval is None else f" ± {score.interval:.2f}"
    return f"{score.value:.2f}{spread}"


def _bleu_line(result: "Evaluation") -> str:
    parts = result.scores[0].parts
    if parts is None:
        return ""
    precisions = " / ".join(f"{precision:.1f}" for precision in parts.precisions)
    return (
        f"{result.name}: 1- to 4-gram precision {precisions}, brevity penalty "
        f"{parts.brevity_penalty:.3f} ({parts.hypothesis_length:,} words for "
        f"{parts.reference_length:,} of the reference)"
    )


def _print_comparisons(
    systems: Sequence[System],
    comparisons: "list[tuple[Evaluation, list[Comparison]]]",
    test: str,
) -> None:
    """A table a set: each system's scores, and the p-values of its difference from the first."""
    width = max(24, *(len(system.name) + 2 for system in systems))
    for number, (first, metrics) in enumerate(comparisons):
        print(f"{first.name}: {len(first.sources):,} sentences; p by {test}, against the first")
        heads = "".join(f"{metric.metric:>16}{'p':>9}" for metric in metrics)
        print(f"{'system':<{width}}{heads}{'exact match':>16}")
        for place, system in enumerate(systems):
            *scores, exact = system.results[number].scores
            cells = [
                f"{_value(score):>16}{_chance(metric.p_values[place]):>9}"
                for score, metric in zip(scores, metrics, strict=True)
            ]
            print(f"{system.name:<{width}}{''.join(cells)}{_value(exact):>16}")
    for metric in comparisons[0][1]:
        print(f"{metric.metric}: {metric.signature}")
    print("* p < 0.05: so large a difference is hardly chance")


def _chance(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}{'*' if value < 0.05 else ' '}"


def _print_lengths(lengths: "dict[str, list[LengthBin]]") -> None:
    if not lengths:
        return
    width = max(16, *(len(name) + 2 for name in lengths))
    print(f"\n{'source words':<14}{'sentences':>10}" + "".join(f"{n:>{width}}" for n in lengths))
    for row in zip(*lengths.values(), strict=True):
        values = "".join(f"{_value(entry.bleu):>{width}}" for entry in row)
        print(f"{f'{row[0].first}-{row[0].last}':<14}{row[0].sentences:>10,}{values}")


def _print_json(
    pipeline: "TranslationPipeline",
    systems: Sequence[System],
    comparisons: "list[tuple[Evaluation, list[Comparison]]]",
    lengths: "dict[str, list[LengthBin]]",
) -> None:
    sets: list[dict[str, Any]] = []
    for number, result in enumerate(systems[0].results):
        entry: dict[str, Any] = {
            "name": result.name,
            "sentences": len(result.sources),
            "scores": [_fields(score) for score in result.scores],
        }
        if comparisons:
            entry["systems"] = {
                system.name: [_fields(score) for score in system.results[number].scores]
                for system in systems
            }
            names = [system.name for system in systems[1:]]
            entry["tests"] = [
                {
                    "name": metric.metric,
                    "signature": metric.signature,
                    "p_values": dict(zip(names, metric.p_values[1:], strict=True)),
                }
                for metric in comparisons[number][1]
            ]
        sets.append(entry)
    record: dict[str, Any] = {
        "run": str(pipeline.run.folder),
        "checkpoint": pipeline.checkpoint.name,
        "sets": sets,
    }
    if lengths:
        record["by_length"] = {n: [_fields(entry) for entry in bins] for n, bins in lengths.items()}
    print(json.dumps(record, indent=2, ensure_ascii=False))


def _fields(record: Any) -> dict[str, Any]:
    """A record as JSON, without what is not known."""
    return dataclasses.asdict(
        record, dict_factory=lambda items: {key: value for key, value in items if value is not None}
    )
