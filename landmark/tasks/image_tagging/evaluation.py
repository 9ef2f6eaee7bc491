"""`landmark evaluate` for image taggers: mean average precision, and a table by word."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from landmark.metrics.tagging import TOP, TaggingScores
from landmark.tasks.card import Report
from landmark.tasks.image_tagging.options import EvaluateOptions
from landmark.tasks.image_tagging.pipeline import TaggingPipeline
from landmark.tasks.measuring import NO_TEST_SPLIT

_MOST_ROWS = 40  # words in the table: those of most images
_LABELS = {
    "map": "mAP",
    f"precision{TOP}": f"precision of {TOP}",
    f"recall{TOP}": f"recall of {TOP}",
}


@dataclass(frozen=True)
class TagSetScores:
    """How well a run tags one set of images, beside a tagger that knows how frequent words are."""

    name: str
    run: str
    checkpoint: str
    words: int
    result: TaggingScores
    frequencies: TaggingScores
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "images": self.result.images,
            "scores": _numbers(self.result),
            "word_frequencies": _numbers(self.frequencies),
            "words": [dataclasses.asdict(row) for row in self.result.tags],
        }

    def lines(self) -> list[str]:
        """All scores in percent, and a table of the most frequent words."""
        result, rows = self.result, self.result.tags
        lines = [
            f"{self.name}: {result.images:,} images; {len(rows):,} of {self.words:,} words occur",
            f"{'':<16}{'this run':>10}{'word frequencies':>18}",
        ]
        ours, theirs = _numbers(result), _numbers(self.frequencies)
        for key, label in _LABELS.items():
            lines.append(f"{label:<16}{100 * ours[key]:>10.2f}{100 * theirs[key]:>18.2f}")
        shown = sorted(rows, key=lambda row: -row.images)[:_MOST_ROWS]
        if len(shown) < len(rows):
            lines.append(f"the {len(shown)} most frequent words:")
        width = max(6, *(len(row.name) + 2 for row in shown))
        lines.append(f"{'word':<{width}}{'images':>8}{'AP':>8}{'chance':>8}")
        for row in shown:
            shares = f"{100 * row.average_precision:>8.1f}{100 * row.chance:>8.1f}"
            lines.append(f"{row.name:<{width}}{row.images:>8,}{shares}")
        return lines


def _numbers(scores: TaggingScores) -> dict[str, float]:
    values = (scores.mean_average_precision, scores.precision, scores.recall)
    return dict(zip(_LABELS, values, strict=True))


def evaluate(
    pipeline: TaggingPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[TagSetScores]:
    """Tag every image of each split, and score the words."""
    sets = {name: pipeline.split(name) for name in options.split or pipeline.splits}
    total, done = sum(map(len, sets.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "images"})

    for name, given in sets.items():
        result, frequencies = pipeline.evaluate(given, advance)
        warnings = () if options.split or name == "test" else (NO_TEST_SPLIT,)
        folder, checkpoint = str(pipeline.run.folder), pipeline.checkpoint.name
        words = len(pipeline.form.names)
        yield TagSetScores(name, folder, checkpoint, words, result, frequencies, warnings)
