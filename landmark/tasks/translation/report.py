"""`landmark evaluate` for translators: scores, paired tests against others, BLEU by length."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import write_file
from landmark.data.translation.parallel_text import Pair, read_pairs
from landmark.engine.run import Run
from landmark.metrics.comet import check_comet, score_comet
from landmark.metrics.translation import (
    Comparison,
    LengthBin,
    Score,
    compare_translations,
    score_by_length,
)
from landmark.tasks.card import OpenOptions, Record, Report, Result
from landmark.tasks.search_options import TESTS
from landmark.tasks.searching import beam_of
from landmark.tasks.translation.evaluation import (
    Evaluation,
    join_pairs,
    read_translations,
    score,
    scored_form,
    split_pairs,
    translate_all,
)
from landmark.tasks.translation.options import EvaluateOptions
from landmark.tasks.translation.pipeline import (
    Sentence,
    TranslationPipeline,
    open_pipeline,
    translation_config,
)
from landmark.tasks.translation.run import TranslationRun
from landmark.tasks.translation.verbs import check_language, check_length

_BIN_WORDS = 5


def check(config: TranslationRun, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go with the run, or with a run that it is compared with."""
    check_language(config, options.to)
    check_length(config, options.min_length)
    beam_of(config.search.beam, options.searching)
    if options.comet:
        check_comet(options.comet)
    seen: set[Path] = set()
    for path in options.against:
        if path in seen:
            raise UserError(f"--against {path}: is given twice")
        if not path.exists():
            raise UserError(f"--against {path}: there is no such run, and no file of translations")
        seen.add(path)
    for path in filter(Path.is_dir, options.against):
        other = translation_config(Run.open(path))
        try:
            check_language(other, options.to)
            check_length(other, options.min_length)
            beam_of(other.search.beam, options.searching)
        except UserError as error:
            raise UserError(f"--against {path}: {error}") from None


@dataclass(frozen=True)
class Layout:
    """Where a set's scores stand in the table of all sets."""

    width: int = 24
    is_first: bool = True
    is_last: bool = True


@dataclass(frozen=True)
class SetScores:
    """How well a run translates one set of sentences, and others beside it."""

    run: str
    checkpoint: str
    systems: Mapping[str, Evaluation]
    """By name; the run (or its ensemble) first, then what it is compared with."""
    comparisons: tuple[Comparison, ...] = ()
    """How the others differ from the first, by each metric."""
    test: str = ""
    """What the p-values are by."""
    warnings: tuple[str, ...] = ()
    layout: Layout = dataclasses.field(default=Layout(), compare=False)

    @property
    def result(self) -> Evaluation:
        """The run's own."""
        return next(iter(self.systems.values()))

    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "run": self.run,
            "checkpoint": self.checkpoint,
            "name": self.result.name,
            "sentences": len(self.result.sources),
            "scores": [_fields(score) for score in self.result.scores],
        }
        if self.comparisons:
            _, *others = self.systems
            record["systems"] = {
                name: [_fields(score) for score in found.scores]
                for name, found in self.systems.items()
            }
            record["tests"] = [
                {
                    "name": metric.metric,
                    "signature": metric.signature,
                    "p_values": dict(zip(others, metric.p_values[1:], strict=True)),
                }
                for metric in self.comparisons
            ]
        return record

    def lines(self) -> list[str]:
        """Scores as rows of a table; with others, a table of their differences."""
        return self._comparison_lines() if self.comparisons else self._score_lines()

    def _score_lines(self) -> list[str]:
        result, width = self.result, self.layout.width
        values = "".join(f"{_value(score):>16}" for score in result.scores)
        lines = [f"{result.name:<{width}}{len(result.sources):>10,}{values}"]
        if self.layout.is_first:
            names = "".join(f"{score.name:>16}" for score in result.scores)
            lines.insert(0, f"{'set':<{width}}{'sentences':>10}{names}")
        if parts := result.scores[0].parts:
            precisions = " / ".join(f"{precision:.1f}" for precision in parts.precisions)
            lines.append(
                f"  1- to 4-gram precision {precisions}, brevity penalty "
                f"{parts.brevity_penalty:.3f} ({parts.hypothesis_length:,} words for "
                f"{parts.reference_length:,} of the reference)"
            )
        if self.layout.is_last:
            lines += [f"{score.name}: {score.signature}" for score in result.scores[:-1]]
        return lines

    def _comparison_lines(self) -> list[str]:
        """Each system's scores, and the p-values of its difference from the first."""
        width = max(24, *(len(name) + 2 for name in self.systems))
        count = f"{len(self.result.sources):,} sentences"
        lines = [f"{self.result.name}: {count}; p by {self.test}, against the first"]
        heads = "".join(f"{metric.metric:>16}{'p':>9}" for metric in self.comparisons)
        lines.append(f"{'system':<{width}}{heads}{'exact match':>16}")
        for place, (name, found) in enumerate(self.systems.items()):
            *scores, exact = found.scores
            cells = [
                f"{_value(score):>16}{_chance(metric.p_values[place]):>9}"
                for score, metric in zip(scores, self.comparisons, strict=True)
            ]
            lines.append(f"{name:<{width}}{''.join(cells)}{_value(exact):>16}")
        if self.layout.is_last:
            lines += [f"{metric.metric}: {metric.signature}" for metric in self.comparisons]
            lines.append("* p < 0.05: so large a difference is hardly chance")
        return lines


@dataclass(frozen=True)
class LengthScores(Result):
    """BLEU by the length of the source, of all sets together."""

    run: str
    checkpoint: str
    systems: Mapping[str, Sequence[LengthBin]]

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "checkpoint": self.checkpoint,
            "by_length": {
                name: [_fields(entry) for entry in bins] for name, bins in self.systems.items()
            },
        }

    def lines(self) -> list[str]:
        width = max(16, *(len(name) + 2 for name in self.systems))
        names = "".join(f"{name:>{width}}" for name in self.systems)
        lines = ["", f"{'source words':<14}{'sentences':>10}{names}"]
        for row in zip(*self.systems.values(), strict=True):
            values = "".join(f"{_value(entry.bleu):>{width}}" for entry in row)
            lines.append(f"{f'{row[0].first}-{row[0].last}':<14}{row[0].sentences:>10,}{values}")
        return lines


def _value(score: Score) -> str:
    spread = "" if score.interval is None else f" ± {score.interval:.2f}"
    return f"{score.value:.2f}{spread}"


def _chance(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}{'*' if value < 0.05 else ' '}"


def _fields(record: Any) -> dict[str, Any]:
    """A record as JSON, without what is not known."""

    def known(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in items
            if value is not None
        }

    return dataclasses.asdict(record, dict_factory=known)


def evaluate(
    pipeline: TranslationPipeline,
    blocks: Iterable[Any],
    options: EvaluateOptions,
    report: Report,
) -> Iterator[Record]:
    """Translate every set and score it, beside those that the run is compared with."""
    sets, warnings = _open_sets(pipeline, options)
    systems = _Systems(pipeline, options, sets)
    total, done = systems.count_work(sets), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "sentences"})

    run, checkpoint = str(pipeline.run.folder), pipeline.checkpoint.name
    width = max(24, *(len(name) + 2 for name in sets))
    found: list[Mapping[str, Evaluation]] = []
    for number, (name, pairs) in enumerate(sets.items()):
        scored = systems.score(name, pairs, advance)
        found.append(scored)
        yield SetScores(
            run,
            checkpoint,
            scored,
            _compare(scored, options) if options.against else (),
            TESTS[options.test or "bootstrap"] if options.against else "",
            warnings,
            Layout(width, number == 0, number == len(sets) - 1),
        )
    if options.by_length:
        yield LengthScores(run, checkpoint, _by_length(found, options))


def _open_sets(
    pipeline: TranslationPipeline, options: EvaluateOptions
) -> tuple[dict[str, list[Pair]], tuple[str, ...]]:
    """What to translate, by name, each set once for every number of sentences to join."""
    warnings: tuple[str, ...] = ()
    if options.source:
        targets = [str(options.reference)] if options.reference else []
        sets = {str(options.source): list(read_pairs([str(options.source)], targets))}
    else:
        names = options.split or ("test",)
        if not options.split and pipeline.config.data.corpus == "files":
            names = ("valid",)
            warnings = (
                f"{pipeline.run.folder}: its data have no test split: these are scores of the "
                "validation pairs, by which the checkpoint was chosen",
            )
        sets = {name: split_pairs(pipeline, name, options.to) for name in names}
    joined = {
        name if count == 1 else f"{name} ({count} joined)": join_pairs(pairs, count)
        for name, pairs in sets.items()
        for count in options.joins
    }
    return joined, warnings


class _Systems:
    """The run and what it is compared with, all of it opened before any work."""

    def __init__(
        self,
        judge: TranslationPipeline,
        options: EvaluateOptions,
        sets: Mapping[str, Sequence[Pair]],
    ) -> None:
        self.judge, self.options = judge, options
        count = sum(map(len, sets.values()))
        self.others: dict[str, TranslationPipeline | Iterator[str]] = {}
        opened = OpenOptions(device=str(judge.device))
        for path in options.against:
            if str(path) == judge.name:
                raise UserError(f"--against {path}: is given twice")
            if path.is_dir():
                run = Run.open(path)
                config = translation_config(run)
                self.others[str(path)] = open_pipeline(run, config, opened, lambda record: None)
            else:
                self.others[str(path)] = iter(read_translations(path, count))
        for speaker in self.speakers:
            for name, pairs in sets.items():
                numbered = enumerate(pairs, 1)
                texts = [Sentence(text, f"{name}:{n}", (n,)) for n, (text, _) in numbered]
                speaker.check_sources(texts, options.to)

    @property
    def speakers(self) -> list[TranslationPipeline]:
        """Those that translate."""
        others = self.others.values()
        return [self.judge, *(one for one in others if isinstance(one, TranslationPipeline))]

    def count_work(self, sets: Mapping[str, Sequence[Pair]]) -> int:
        """Sentences to translate."""
        return len(self.speakers) * sum(map(len, sets.values()))

    def score(self, name: str, pairs: Sequence[Pair], advance: Any) -> dict[str, Evaluation]:
        """Every system's scores on one set; the run's own are first."""
        judge, options = self.judge, self.options
        form, sources = judge.target_form(options.to), [source for source, _ in pairs]
        found = {}
        for system, speaker in {judge.name: judge, **self.others}.items():
            if isinstance(speaker, TranslationPipeline):
                results = translate_all(speaker, sources, options.searching, advance)
                texts = [result.text for result in results]
                said = scored_form(judge, speaker, results, options.to)
            else:
                texts = [next(speaker) for _ in sources]
                said = [form.read(text) for text in texts]
            scored = score(judge, name, pairs, texts, said, options.bootstrap, options.to)
            if options.comet:
                references = [reference for _, reference in pairs]
                comet = score_comet(options.comet, sources, texts, references)
                *scores, exact = scored.scores
                scored = dataclasses.replace(scored, scores=(*scores, comet, exact))
            found[system] = scored
        return found


def _compare(systems: Mapping[str, Evaluation], options: EvaluateOptions) -> tuple[Comparison, ...]:
    """How the systems differ from the first on one set."""
    test: Any = options.test or "bootstrap"
    first = next(iter(systems.values()))
    said = [(name, found.hypotheses) for name, found in systems.items()]
    samples = options.bootstrap if test == "bootstrap" else 0
    return tuple(compare_translations(said, first.references, first.tokenized, test, samples))


def _by_length(
    sets: Sequence[Mapping[str, Evaluation]], options: EvaluateOptions
) -> dict[str, list[LengthBin]]:
    """All sets together, by the length of the source."""
    width = options.bin_words or _BIN_WORDS
    return {
        name: score_by_length(
            [line for found in sets for line in found[name].sources],
            [line for found in sets for line in found[name].hypotheses],
            [line for found in sets for line in found[name].references],
            sets[0][name].tokenized,
            options.bootstrap,
            width,
        )
        for name in sets[0]
    }


def write_translations(
    pipeline: TranslationPipeline,
    records: Sequence[Record],
    options: EvaluateOptions,
    path: Path,
) -> None:
    """The run's own translations of all sets, a sentence a line."""
    lines = [
        line
        for record in records
        if isinstance(record, SetScores)
        for line in record.result.translations
    ]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())
