"""Attention of several translation models on one sentence."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures.translation.alignment import draw_alignments
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.tasks.translation.alignment import Alignment, AttentionChoice


@settings
class Options:
    runs: Annotated[tuple[Path, ...], Positional("RUNS...")]
    """Run directories of translation models."""
    source: str | None = None
    """Source sentence; default: “I ate an apple.”"""
    target: str | None = None
    """Its translation; default: each run's own."""
    output: Path = Path("alignments.png")
    """Output file: .png, .svg or .pdf."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator if there is one."""


@dataclass(frozen=True)
class Aligned:
    """A run's translation of the sentence, and how its attention aligns it."""

    run: str
    attention: str
    """Which layer and head, at which step."""
    error_rate: float | None
    """Against gold alignments of test sentences, where there are some."""
    target: str
    alignment: "Alignment"

    @property
    def title(self) -> str:
        rate = self.error_rate
        shown = "" if rate is None else f"\nalignment error rate {100 * rate:.1f} %"
        return f"{self.run}\n{self.attention}{shown}"


@dataclass(frozen=True)
class Alignments:
    """One sentence in several translators."""

    runs: list[Aligned]

    def json(self) -> dict[str, Any]:
        kept = ("run", "attention", "error_rate", "target")
        return {"runs": [{key: getattr(run, key) for key in kept} for run in self.runs]}


def compute(options: Options, report: Report) -> Alignments:
    """Translate the sentence with each run, and align it by the attention that aligns best."""
    from landmark.figures.translation.reading import open_translators
    from landmark.tasks.translation.alignment import align_pairs, default_choice

    source, target = options.source, options.target
    if target is not None and source is None:
        raise UserError("--target needs --source")
    for option, text in (("--source", source), ("--target", target)):
        if text is not None and not text.strip():
            raise UserError(f"{option} is empty: give a sentence")
    found = []
    for name, pipeline in open_translators(options.runs, options.device).items():
        said, own = (source, target) if source else _example(pipeline)
        own = own or pipeline.translate([said])[0].text
        choice = default_choice(pipeline)
        (alignment,) = align_pairs(pipeline, [(said, own)], choice)
        rate = _error_rate(pipeline, choice)
        found.append(Aligned(name, str(choice), rate, own, alignment))
    return Alignments(found)


def _example(pipeline: Any) -> tuple[str, str | None]:
    """The lectures' sentence in the language that a run reads; its translation if that is known."""
    from landmark.data.embedded import corpus

    example, data = corpus.example(), pipeline.config.data
    source, target = example.source, example.target
    if data.reverse:
        source, target = target, source
    return source, target if data.corpus == "embedded" else None


def _error_rate(pipeline: Any, choice: "AttentionChoice") -> float | None:
    """Against gold alignments of test sentences; the choice was made on others."""
    from landmark.tasks.translation.alignment import GOLD_PAIRS, gold_pairs, try_choices

    if pipeline.config.data.corpus != "embedded":
        return None
    trials = try_choices(pipeline, gold_pairs(pipeline, GOLD_PAIRS, "test"))
    return next(trial.score.error_rate for trial in trials if trial.choice == choice)


def draw(record: Alignments) -> "Figure":
    """The attention between words as shades, the links as frames; a panel a run."""
    return draw_alignments({run.title: run.alignment for run in record.runs})


def table(record: Alignments) -> list[str]:
    """Each run's attention and error rate."""
    return [run.title.replace("\n", ": ") for run in record.runs]
