"""BLEU against the number of parameters of translation models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import Positional, as_values, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.translation.interval import whiskers
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.metrics.translation import Score

RESAMPLES = 1000  # for the 95 % interval of each BLEU
_MARKERS = "osD^v"  # one a network, also told apart without colours
_ABOVE = {"xytext": (-6, 4), "ha": "right", "va": "bottom"}
_BELOW = {"xytext": (6, -4), "ha": "left", "va": "top"}


@settings
class Options:
    runs: Annotated[tuple[Path, ...], Positional("RUNS...")]
    """Run directories of translation models."""
    split: str | None = None
    """Split of the runs' own data; default: test."""
    source: Path | None = None
    """Your source sentences instead (or a .tsv with both sides) …"""
    reference: Path | None = None
    """… and their reference translations."""
    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] | None = None
    """Beam size; 1 is greedy search."""
    to: str | None = None
    """Target language, for a multilingual model."""
    output: Path = Path("sizes.png")
    """Output file: .png, .svg or .pdf."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator if there is one."""


@dataclass(frozen=True)
class SizedScore:
    """How large a run's network is, and how well it translates."""

    run: str
    network: str
    parameters: int
    bleu: "Score"
    minutes: float | None
    """Of training; None if the run's log does not tell."""

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "network": self.network,
            "parameters": self.parameters,
            "bleu": self.bleu.value,
            "interval": self.bleu.interval,
            "signature": self.bleu.signature,
            "minutes": self.minutes,
        }


@dataclass(frozen=True)
class Sizes:
    """All runs, sorted by network and size."""

    title: str
    """Of what sentences the scores are."""
    runs: list[SizedScore]

    def json(self) -> dict[str, Any]:
        return {"runs": [run.json() for run in self.runs]}


def compute(options: Options, report: Report) -> Sizes:
    """Translate the same sentences with every run, and score them."""
    from landmark.figures.translation.reading import (
        check_sentences,
        open_translators,
        read_sentences,
    )

    if len(options.runs) < 2:
        raise UserError(f"{options.runs[0]}: sizes compares runs: give at least two")
    given = options.split, options.source, options.reference
    check_sentences(*given)
    pipelines = open_translators(options.runs, options.device)
    check_same_data(list(pipelines.values()))
    judge = next(iter(pipelines.values()))
    name, pairs = read_sentences(judge, *given, options.to)
    done = 0
    counted = {"what": "translated", "total": len(pairs) * len(pipelines), "unit": "sentences"}

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, **counted})

    scored = score_sizes(pipelines, pairs, options.beam, options.to, advance)
    return Sizes(f"{name}: {len(pairs):,} sentences", scored)


def check_same_data(pipelines: Sequence[Any]) -> None:
    """Refuse runs of different data: what is larger than what would not be all that differs."""
    first, *others = pipelines
    wanted = _training_data(first)
    for other in others:
        found = _training_data(other)
        for key, value in wanted.items():
            if found.get(key) != value:
                raise UserError(
                    f"{other.run.folder}: was trained on other data than {first.run.folder}: "
                    f"data.{key} is {found.get(key)!r}, not {value!r}: give runs of the same data"
                )


def _training_data(pipeline: Any) -> dict[str, Any]:
    """The settings that choose the sentence pairs; what a corpus takes no notice of is left out."""
    data = pipeline.config.data
    values = as_values(data)
    if data.corpus != "files" or data.valid_source:
        del values["valid_pairs"]  # else they are held out of the training files
    if data.corpus != "embedded":
        del values["train_pairs"], values["corpus_seed"]
    return values


def score_sizes(
    pipelines: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    beam: int | None = None,
    language: str | None = None,
    advance: Callable[[int], None] | None = None,
) -> list[SizedScore]:
    """Every run by name on the same pairs, sorted by network and size.

    All are scored in the first one's form of text: BLEU of different forms does not compare.
    """
    from landmark.engine.run import training_minutes
    from landmark.tasks.translation.evaluation import score, scored_form, translate_all
    from landmark.tasks.translation.options import TranslateOptions

    judge = next(iter(pipelines.values()))
    sources = [source for source, _ in pairs]
    found = []
    for name, pipeline in pipelines.items():
        options = TranslateOptions(beam=beam, to=language)
        results = translate_all(pipeline, sources, options, advance)
        said = scored_form(judge, pipeline, results, language)
        texts = [result.text for result in results]
        bleu, *_ = score(judge, name, pairs, texts, said, RESAMPLES, language).scores
        network = pipeline.config.model.architecture
        parameters = sum(parameter.numel() for parameter in pipeline.model.parameters())
        minutes = training_minutes(pipeline.run.read_log())
        found.append(SizedScore(name, network, parameters, bleu, minutes))
    return sorted(found, key=lambda entry: (entry.network, entry.parameters, entry.run))


def draw(record: Sizes) -> "Figure":
    """Each run's BLEU with its 95 % interval, one line a network."""
    figure, grid = style.panels(1, 1, (8, 5))
    axes = grid[0, 0]
    networks = dict.fromkeys(entry.network for entry in record.runs)
    for number, network in enumerate(networks):
        entries = [entry for entry in record.runs if entry.network == network]
        _draw_network(axes, network, sorted(entries, key=lambda e: e.parameters), number)
    _scale_parameters(axes, [entry.parameters for entry in record.runs])
    axes.set(xlabel="parameters", ylabel="BLEU")
    style.title(axes, record.title)
    axes.margins(y=0.12)
    style.tidy(axes)
    style.add_legend(axes, outside=True)  # inside are the runs' names
    return figure


def _draw_network(axes: "Axes", network: str, entries: Sequence[SizedScore], number: int) -> None:
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=2, foreground="white")  # a name stays legible across a line
    color, marker = style.colour(number), _MARKERS[number % len(_MARKERS)]
    sizes = [entry.parameters for entry in entries]
    values = [entry.bleu.value for entry in entries]
    axes.errorbar(
        sizes,
        values,
        whiskers([entry.bleu for entry in entries]),
        marker=marker,
        capsize=3,
        label=network,
        color=color,
    )
    axes.plot(sizes, values, marker, color=color, zorder=4)  # once more: no name may hide a point
    # Lines rise to the right: above one there is room to the left, below it to the right.
    side: dict[str, Any] = _ABOVE if number % 2 == 0 else _BELOW
    for entry in entries:
        label = axes.annotate(
            entry.run, (entry.parameters, entry.bleu.value), **side,
            textcoords="offset points", fontsize=9, color=color, path_effects=[halo], zorder=3,
        )  # fmt: skip
        label.set_parse_math(False)  # a "$" in a name is no formula


def _scale_parameters(axes: "Axes", parameters: Sequence[int]) -> None:
    """A logarithmic axis whose numbers are written out (700 k, 1.5 M), few or many decades wide."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

    least, most = min(parameters), max(parameters)
    # Room for the names of the smallest and the largest.
    room = min(3.5, max(1.25, (most / least) ** 0.22))
    axes.set_xscale("log")
    axes.set_xlim(least / room, most * room)
    narrow = most * room < 5 * least / room
    ticks = MaxNLocator(8, steps=(1, 2, 5, 10)) if narrow else LogLocator(subs=(1, 2, 5))
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(EngFormatter())


def table(record: Sizes) -> list[str]:
    """A line a run, and how BLEU was computed."""
    width = max(24, *(len(entry.run) + 2 for entry in record.runs))
    lines = [f"{'run':<{width}}{'network':<14}{'parameters':>14}{'BLEU':>16}{'minutes':>10}"]
    for entry in record.runs:
        bleu = f"{entry.bleu.value:.2f} ± {entry.bleu.interval:.2f}"
        minutes = "-" if entry.minutes is None else f"{entry.minutes:.1f}"
        lines.append(
            f"{entry.run:<{width}}{entry.network:<14}{entry.parameters:>14,}{bleu:>16}{minutes:>10}"
        )
    return [*lines, f"BLEU: {record.runs[0].bleu.signature}"]
