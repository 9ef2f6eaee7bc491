"""`landmark evaluate` for captioners: scores by free running, beside other systems."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.core.storage import write_file
from landmark.data.captions.corpus import open_split
from landmark.data.captions.source import CaptionedImages
from landmark.data.captions.text import caption_text
from landmark.data.text_file import read_lines
from landmark.engine.run import Run
from landmark.metrics.captions import (
    CIDER,
    CaptionScores,
    compare_captions,
    score_captions,
)
from landmark.metrics.translation import Comparison
from landmark.tasks.captioning.options import CaptionOptions, EvaluateOptions
from landmark.tasks.captioning.pipeline import (
    TOGETHER,
    CaptioningPipeline,
    CaptionWord,
    open_pipeline,
)
from landmark.tasks.captioning.retrieval import Retrieval, rank_images
from landmark.tasks.captioning.run import CaptioningRun
from landmark.tasks.captioning.scene_truth import SceneTruth, judge_scenes
from landmark.tasks.card import OpenOptions, Record, Report, Result
from landmark.tasks.search_options import TESTS
from landmark.tasks.searching import beam_of
from landmark.tasks.training import load_config

_SHOWN = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", CIDER)
Advance = Callable[[int], None]


def check(config: CaptioningRun, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go with the run, or with what it is compared with."""
    searching = CaptionOptions(beam=options.beam, length_penalty=options.length_penalty)
    beam_of(config.search.beam, searching)
    for path in options.against:
        if not path.exists():
            raise UserError(f"--against {path}: there is no such run, and no file of captions")
        if path.is_dir():
            its = load_config(Run.open(path))
            if not isinstance(its, CaptioningRun):
                raise UserError(f"--against {path}: is a run of task {its.task!r}")


@dataclass(frozen=True)
class SplitScores(Result):
    """How well a run describes a split, and others beside it."""

    run: str
    checkpoint: str
    split: str
    captions: tuple[str, ...]
    systems: Mapping[str, CaptionScores]
    """By name; the run (or its ensemble) first."""
    comparisons: tuple[Comparison, ...] = ()
    test: str = ""
    shuffled: CaptionScores | None = None
    """Of the same captions, each beside another image."""
    truth: SceneTruth | None = None
    retrieval: Retrieval | None = None

    @property
    def result(self) -> CaptionScores:
        """The run's own."""
        return next(iter(self.systems.values()))

    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "run": self.run,
            "checkpoint": self.checkpoint,
            "split": self.split,
            "systems": {name: dataclasses.asdict(its) for name, its in self.systems.items()},
        }
        if self.comparisons:
            others = list(self.systems)[1:]
            record["tests"] = [
                {
                    "name": one.metric,
                    "signature": one.signature,
                    "p_values": dict(zip(others, one.p_values[1:], strict=True)),
                }
                for one in self.comparisons
            ]
        for name in ("shuffled", "truth", "retrieval"):
            if (value := getattr(self, name)) is not None:
                record[name] = dataclasses.asdict(value)
        return record

    def lines(self) -> list[str]:
        scores, width = self.result, max(28, *(len(name) + 2 for name in self.systems))
        lines = [f"{self.split}: {scores.images:,} images"]
        lines.append(f"{'':<{width}}" + "".join(f"{name:>10}" for name in _SHOWN))
        rows = {**self.systems}
        if self.shuffled:
            rows["captions of other images"] = self.shuffled
        for place, (name, its) in enumerate(rows.items()):
            shown = name if self.comparisons or place else "score"
            lines.append(f"{shown:<{width}}" + _cells(its))
            if self.comparisons and 0 < place < len(self.systems):
                chances = {one.metric: one.p_values[place] for one in self.comparisons}
                row = "".join(f"{_chance(chances.get(metric)):>10}" for metric in _SHOWN)
                lines.append(f"{f'  p ({self.test})':<{width}}{row}")
        spread = "".join(f"{_half_width(scores, name):>10}" for name in _SHOWN)
        if spread.strip():
            lines.append(f"{'95 % interval, ±':<{width}}{spread}")
        lines.append(f"{'without brevity penalty':<{width}}" + _cells(scores, without=True))
        lines += _facts(scores)
        for more in (self.truth, self.retrieval):
            if more:
                lines += more.lines()
        lines.append(f"BLEU: {scores.signature}")
        return lines


def _cells(scores: CaptionScores, without: bool = False) -> str:
    cells = []
    for name in _SHOWN:
        value = scores.value(name)
        if name == CIDER:
            cells.append("" if without else f"{value:.3f}")
        else:
            cells.append(f"{scores.value(f'{name} without penalty') if without else value:.2f}")
    return "".join(f"{cell:>10}" for cell in cells)


def _half_width(scores: CaptionScores, name: str) -> str:
    found = next(score for score in scores.scores if score.name == name)
    if found.low is None or found.high is None:
        return ""
    return f"{(found.high - found.low) / 2:.{3 if name == CIDER else 2}f}"


def _chance(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _facts(scores: CaptionScores) -> list[str]:
    copied = "" if scores.copied is None else f", {100 * scores.copied:.1f} % occur in training"
    return [
        f"{scores.mean_words:.1f} words a caption (references {scores.reference_words:.1f}, "
        f"brevity penalty {scores.brevity_penalty:.3f})",
        f"{scores.distinct:,} distinct captions{copied}",
    ]


def evaluate(
    pipeline: CaptioningPipeline,
    blocks: Iterable[Any],
    options: EvaluateOptions,
    report: Report,
) -> Iterator[Record]:
    """Describe every image of each split and score the captions."""
    sets = _open_sets(pipeline, options)
    others = _open_others(pipeline, options, sum(len(split) for split in sets.values()))
    speakers = [pipeline, *(its for its in others.values() if isinstance(its, CaptioningPipeline))]
    total, done = len(speakers) * sum(len(split) for split in sets.values()), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "images"})

    training = {caption_text(text) for text in open_split(pipeline.run.folder, "train").texts()}
    for name, split in sets.items():
        yield _score(pipeline, others, name, split, training, options, advance)


def _score(
    pipeline: CaptioningPipeline,
    others: "Mapping[str, CaptioningPipeline | Iterator[str]]",
    name: str,
    split: CaptionedImages,
    training: set[str],
    options: EvaluateOptions,
    advance: Advance,
) -> SplitScores:
    """The scores of one split."""
    references = [[caption_text(text) for text in texts] for texts in split.captions]
    told = describe_split(pipeline, split, options, advance)
    said = {pipeline.name: [" ".join(word.text for word in words) for words in told]}
    for system, speaker in others.items():
        if isinstance(speaker, CaptioningPipeline):
            words = describe_split(speaker, split, options, advance)
            said[system] = [" ".join(word.text for word in its) for its in words]
        else:
            said[system] = [caption_text(next(speaker)) for _ in range(len(split))]
    own, resamples = said[pipeline.name], options.bootstrap
    comparisons: tuple[Comparison, ...] = ()
    if others:
        test: Any = options.test or "bootstrap"
        samples = resamples if test == "bootstrap" else 0
        comparisons = tuple(compare_captions(list(said.items()), references, test, samples))
    shuffled = None
    if options.shuffled:
        shuffled = score_captions(_dealt(own), references, training, 0)
    data = pipeline.config.data
    return SplitScores(
        str(pipeline.run.folder),
        pipeline.checkpoint.name,
        name,
        tuple(own),
        {
            system: score_captions(its, references, training, resamples)
            for system, its in said.items()
        },
        comparisons,
        TESTS[options.test or "bootstrap"] if others else "",
        shuffled,
        judge_scenes(name, told, data, pipeline.side) if data.corpus == "scenes" else None,
        rank_images(pipeline, split) if options.retrieval else None,
    )


def _dealt(captions: Sequence[str]) -> list[str]:
    """The captions, each beside another image than its own."""
    count = len(captions)
    order = np.random.default_rng(derive_seed("captions of other images")).permutation(count)
    found = [""] * count
    for place, number in enumerate(order.tolist()):
        found[number] = captions[order[(place + 1) % count]]
    return found


def describe_split(
    pipeline: CaptioningPipeline,
    split: CaptionedImages,
    options: EvaluateOptions,
    advance: Advance = lambda count: None,
) -> list[tuple[CaptionWord, ...]]:
    """The best caption of every image, word by word."""
    searching = CaptionOptions(beam=options.beam, length_penalty=options.length_penalty)
    found: list[tuple[CaptionWord, ...]] = []
    for start in range(0, len(split), TOGETHER):
        numbers = range(start, min(start + TOGETHER, len(split)))
        pixels = [split.images[number] for number in numbers]
        best = [hypotheses[0].tokens for hypotheses in pipeline.search(pixels, searching)]
        found += pipeline.words(pixels, best)
        advance(len(pixels))
    return found


def _open_sets(
    pipeline: CaptioningPipeline, options: EvaluateOptions
) -> dict[str, CaptionedImages]:
    """What to describe, by name."""
    folder = pipeline.run.folder
    if options.split:
        return {name: open_split(folder, name) for name in options.split}
    try:
        return {"test": open_split(folder, "test")}
    except UserError:
        return {"valid": open_split(folder, "valid")}


def _open_others(
    pipeline: CaptioningPipeline, options: EvaluateOptions, count: int
) -> "dict[str, CaptioningPipeline | Iterator[str]]":
    """What the run is compared with: other runs, or files with a caption of each image."""
    found: dict[str, CaptioningPipeline | Iterator[str]] = {}
    opened = OpenOptions(device=str(pipeline.device))
    given = {Path(pipeline.name).resolve()}
    for path in options.against:
        if path.resolve() in given:
            raise UserError(f"--against {path}: is given twice")
        given.add(path.resolve())
        if path.is_dir():
            run = Run.open(path)
            config: Any = load_config(run)
            other = open_pipeline(run, config, opened, lambda record: None)
            if other.form.fitting != pipeline.form.fitting:
                raise UserError(
                    f"--against {path}: reads images of another size or fit than "
                    f"{pipeline.run.folder}: write its captions to a file (--output), and compare "
                    "with that"
                )
            found[str(path)] = other
        else:
            lines = list(read_lines(path))
            if len(lines) != count:
                raise UserError(
                    f"{path} has {len(lines)} lines but there are {count} images: it must have a "
                    "caption a line"
                )
            found[str(path)] = iter(lines)
    return found


def write_captions(
    pipeline: CaptioningPipeline, records: Sequence[Any], options: EvaluateOptions, path: Path
) -> None:
    """The run's own captions of all splits, one a line."""
    lines = [line for record in records for line in record.captions]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())
