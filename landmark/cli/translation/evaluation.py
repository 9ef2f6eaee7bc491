"""`landmark evaluate` for translators."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.cli.translation.report import Report, System, print_json, print_tables
from landmark.cli.translation.sentences import check_sentences, read_sets
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.cli.tally import Tally
    from landmark.data.translation.parallel_text import Pair
    from landmark.metrics.translation import Comparison, LengthBin
    from landmark.tasks.translation.evaluation import Evaluation
    from landmark.tasks.translation.pipeline import TranslationPipeline

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}


@dataclass(frozen=True)
class Options:
    """What to translate, how, and how to score it."""

    split: list[str] | None
    source: Path | None
    reference: Path | None
    join: list[str] | None
    beam: int | None
    length_penalty: float | None
    ensemble: list[Path] | None
    engine: str
    against: list[Path] | None
    test: str
    bootstrap: int
    by_length: Path | None
    bin_words: int
    language: str | None
    output: Path | None
    as_json: bool
    checkpoint: str | None
    device: str


def evaluate_translator(run: Path, options: Options) -> None:
    """Score a run's translations, beside those of others."""
    from landmark.tasks.loading import load

    others, output, by_length = options.against or [], options.output, options.by_length
    given = options.split, options.source, options.reference
    check_sentences(*given)
    _check_statistics(options.test, options.bootstrap)
    name = " + ".join(map(str, [run, *(options.ensemble or [])]))
    _check_others(name, others)
    if by_length:
        _check_figure(by_length)
    counts = _joins(options.join or ["1"])
    pipeline = load(
        run,
        options.checkpoint,
        options.device,
        ensemble=options.ensemble or [],
        engine=options.engine,
        task="translation",
    )
    if output:
        output.open("a").close()  # a place that cannot be written shows before the work
    sets = _joined(read_sets(pipeline, *given, options.language), counts)
    systems = _score_systems(name, pipeline, others, sets, options)
    if output:
        _write_translations(systems[0], output)
    comparisons = _compare(systems, options.test, options.bootstrap) if others else []
    lengths = _by_length(systems, options.bootstrap, options.bin_words) if by_length else {}
    report = Report(pipeline, systems, comparisons, TESTS[options.test], lengths)
    show = print_json if options.as_json else print_tables
    show(report)
    if by_length:
        _draw_lengths(lengths, by_length)


def _check_statistics(test: str, bootstrap: int) -> None:
    """Refuse those that do not exist."""
    if test not in TESTS:
        raise UserError(f"--test {test}: give bootstrap or randomization")
    if bootstrap == 1:
        raise UserError("--bootstrap 1: one resample has no spread: give 0 or, say, 1000")


def _check_others(first: str, against: Sequence[Path]) -> None:
    """Refuse a system that is given twice or is not there."""
    names = {first}
    for path in against:
        if str(path) in names:
            raise UserError(f"--against {path}: is given twice")
        if not path.exists():
            raise UserError(f"--against {path}: there is no such run, and no file of translations")
        names.add(str(path))


def _check_figure(path: Path) -> None:
    from landmark.figures.figure import check_place

    check_place(path)


def _joins(words: Sequence[str]) -> list[int]:
    """The numbers that `2` and `2-6` stand for."""
    from landmark.tasks.translation.evaluation import LARGEST_JOIN

    counts: list[int] = []
    for word in words:
        found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= LARGEST_JOIN:
            raise UserError(f"--join {word}: give a number from 1 to {LARGEST_JOIN}, or two: 2-4")
        counts += [number for number in range(first, last + 1) if number not in counts]
    return counts


def _joined(sets: "dict[str, list[Pair]]", joins: Sequence[int]) -> "dict[str, list[Pair]]":
    """Each set once for every number of sentences to join."""
    from landmark.tasks.translation.evaluation import join_pairs

    return {
        name if count == 1 else f"{name} ({count} joined)": join_pairs(pairs, count)
        for name, pairs in sets.items()
        for count in joins
    }


def _score_systems(
    first: str,
    pipeline: "TranslationPipeline",
    against: Sequence[Path],
    sets: "dict[str, list[Pair]]",
    options: Options,
) -> list[System]:
    """Translate all sets with every run (or read what others made of them), and score."""
    from landmark.cli.tally import Tally
    from landmark.tasks.loading import load
    from landmark.tasks.translation.evaluation import read_translations

    sources = [pair[0] for pairs in sets.values() for pair in pairs]
    form = pipeline.target_form(options.language)
    # Both are opened first: what cannot be used shows before the work.
    read = {path: read_translations(path, len(sources)) for path in against if not path.is_dir()}
    runs = {
        path: load(path, None, options.device, task="translation")
        for path in against
        if path.is_dir()
    }
    systems = []
    named: list[tuple[str, Path | None]] = [(first, None), *((str(path), path) for path in against)]
    with Tally("translated", len(sources) * (1 + len(runs))) as tally:
        for name, path in named:
            if path in read:
                texts, said = read[path], [form.read(text) for text in read[path]]
            else:
                speaker = runs[path] if path else pipeline
                texts, said = _translate(pipeline, speaker, sources, options, tally)
            results = _score_sets(pipeline, sets, texts, said, options)
            systems.append(System(name, results))
    return systems


def _translate(
    pipeline: "TranslationPipeline",
    speaker: "TranslationPipeline",
    sources: Sequence[str],
    options: Options,
    tally: "Tally",
) -> tuple[list[str], list[str]]:
    """What a run makes of the sources: as text, and in the form that is scored."""
    from landmark.tasks.translation.evaluation import scored_form, translate_all

    chosen = options.beam, options.length_penalty, options.language
    found = translate_all(speaker, sources, *chosen, tally.advance)
    said = scored_form(pipeline, speaker, found, options.language)
    return [result.text for result in found], said


def _score_sets(
    pipeline: "TranslationPipeline",
    sets: "dict[str, list[Pair]]",
    texts: Sequence[str],
    said: Sequence[str],
    options: Options,
) -> "list[Evaluation]":
    """Scores of each set; the translations of all sets follow each other."""
    from landmark.tasks.translation.evaluation import score

    results, start = [], 0
    for title, pairs in sets.items():
        part = slice(start, start + len(pairs))
        scored = texts[part], said[part], options.bootstrap, options.language
        results.append(score(pipeline, title, pairs, *scored))
        start += len(pairs)
    return results


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


def _write_translations(system: System, path: Path) -> None:
    lines = [line for result in system.results for line in result.translations]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _draw_lengths(lengths: "dict[str, list[LengthBin]]", path: Path) -> None:
    from landmark.figures.translation.lengths import save_lengths

    save_lengths(lengths, path)
