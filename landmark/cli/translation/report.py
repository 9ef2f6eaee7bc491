"""What `landmark evaluate` found, as tables and as JSON."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landmark.metrics.translation import Comparison, LengthBin, Score
    from landmark.tasks.translation.evaluation import Evaluation
    from landmark.tasks.translation.pipeline import TranslationPipeline


@dataclass(frozen=True)
class System:
    """A run, or another's translations, scored on every set."""

    name: str
    results: "list[Evaluation]"


@dataclass(frozen=True)
class Report:
    """Systems scored on the same sets, the first of them the run in question."""

    pipeline: "TranslationPipeline"
    systems: Sequence[System]
    comparisons: "list[tuple[Evaluation, list[Comparison]]]"
    """Of each set, how the systems differ from the first; empty if there is but one."""
    test: str
    """What the p-values of the comparisons are by."""
    lengths: "dict[str, list[LengthBin]]"
    """BLEU by the length of the source for each system; empty if nobody asked."""


def print_tables(report: Report) -> None:
    """Scores, or comparisons if there are others; then BLEU by length."""
    if report.comparisons:
        _print_comparisons(report)
    else:
        print_evaluations(report.systems[0].results)
    if report.lengths:
        _print_lengths(report.lengths)


def print_evaluations(results: "list[Evaluation]") -> None:
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


def _print_comparisons(report: Report) -> None:
    """A table a set: each system's scores, and the p-values of its difference from the first."""
    systems = report.systems
    width = max(24, *(len(system.name) + 2 for system in systems))
    for number, (first, metrics) in enumerate(report.comparisons):
        count = f"{len(first.sources):,} sentences"
        print(f"{first.name}: {count}; p by {report.test}, against the first")
        heads = "".join(f"{metric.metric:>16}{'p':>9}" for metric in metrics)
        print(f"{'system':<{width}}{heads}{'exact match':>16}")
        for place, system in enumerate(systems):
            *scores, exact = system.results[number].scores
            cells = [
                f"{_value(score):>16}{_chance(metric.p_values[place]):>9}"
                for score, metric in zip(scores, metrics, strict=True)
            ]
            print(f"{system.name:<{width}}{''.join(cells)}{_value(exact):>16}")
    for metric in report.comparisons[0][1]:
        print(f"{metric.metric}: {metric.signature}")
    print("* p < 0.05: so large a difference is hardly chance")


def _chance(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}{'*' if value < 0.05 else ' '}"


def _print_lengths(lengths: "dict[str, list[LengthBin]]") -> None:
    width = max(16, *(len(name) + 2 for name in lengths))
    print(f"\n{'source words':<14}{'sentences':>10}" + "".join(f"{n:>{width}}" for n in lengths))
    for row in zip(*lengths.values(), strict=True):
        values = "".join(f"{_value(entry.bleu):>{width}}" for entry in row)
        print(f"{f'{row[0].first}-{row[0].last}':<14}{row[0].sentences:>10,}{values}")


def print_json(report: Report) -> None:
    """All of the report as one record."""
    record: dict[str, Any] = {
        "run": str(report.pipeline.run.folder),
        "checkpoint": report.pipeline.checkpoint.name,
        "sets": [_set_record(report, number) for number in range(len(report.systems[0].results))],
    }
    if report.lengths:
        record["by_length"] = {
            name: [_fields(entry) for entry in bins] for name, bins in report.lengths.items()
        }
    print(json.dumps(record, indent=2, ensure_ascii=False))


def _set_record(report: Report, number: int) -> dict[str, Any]:
    """The first system's scores on a set; with others, theirs and the tests of the difference."""
    first, *others = report.systems
    result = first.results[number]
    record: dict[str, Any] = {
        "name": result.name,
        "sentences": len(result.sources),
        "scores": [_fields(score) for score in result.scores],
    }
    if report.comparisons:
        record["systems"] = {
            system.name: [_fields(score) for score in system.results[number].scores]
            for system in report.systems
        }
        names = [system.name for system in others]
        record["tests"] = [
            {
                "name": metric.metric,
                "signature": metric.signature,
                "p_values": dict(zip(names, metric.p_values[1:], strict=True)),
            }
            for metric in report.comparisons[number][1]
        ]
    return record


def _fields(record: Any) -> dict[str, Any]:
    """A record as JSON, without what is not known."""
    return dataclasses.asdict(
        record, dict_factory=lambda items: {key: value for key, value in items if value is not None}
    )
