"""Exposure bias: next-token accuracy after reference words and after the model's own."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.probes.exposure import Exposure

_FEWEST = 50  # tokens that a position needs to be drawn


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
    output: Path = Path("exposure.png")
    """Output file: .png, .svg or .pdf."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator if there is one."""


@dataclass(frozen=True)
class ExposureBias:
    """Right tokens by position, of each run."""

    runs: "Mapping[str, Exposure]"
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        return {
            "runs": {
                name: {"forced": found.forced_accuracy, "free": found.free_accuracy}
                for name, found in self.runs.items()
            }
        }


def compute(options: Options, report: Report) -> ExposureBias:
    """Measure each run on the pairs; those that are too long for it are left out."""
    from landmark.figures.translation.reading import (
        check_sentences,
        open_translators,
        read_sentences,
    )

    given = options.split, options.source, options.reference
    check_sentences(*given)
    measured, warnings = {}, []
    for name, pipeline in open_translators(options.runs, options.device).items():
        _, pairs = read_sentences(pipeline, *given)
        fitting = [pair for pair in pairs if _fits(pipeline, *pair)]
        if not fitting:
            raise UserError(f"{pipeline.run.folder}: no pair is short enough for the model")
        measured[name] = _measure(pipeline, fitting)
        if left_out := len(pairs) - len(fitting):
            warnings.append(f"{name}: skipped {left_out} pairs that are too long for the model")
    return ExposureBias(measured, tuple(warnings))


def _measure(pipeline: Any, pairs: Sequence[tuple[str, str]]) -> "Exposure":
    from landmark.probes.exposure import measure_exposure
    from landmark.tasks.translation.scoring import batches_of_pairs, encode_pairs

    sources, targets = encode_pairs(pipeline, pairs, ("source", "target"))
    batches = (batch for _, batch in batches_of_pairs(pipeline, sources, targets))
    return reduce(operator.add, (measure_exposure(pipeline.model, batch) for batch in batches))


def _fits(pipeline: Any, source: str, target: str) -> bool:
    (tokens,) = pipeline.tokenizer.encode_targets([pipeline.target_form().read(target)])
    return bool(pipeline.fits(source)) and len(tokens) < pipeline.config.model.max_length


def draw(record: ExposureBias) -> "Figure":
    """One colour a run: teacher forcing drawn through, free running dashed."""
    runs = list(record.runs.items())
    if 2 * len(runs) <= style.MOST_LINES:
        figure, panels = style.tiles(1, 1, (8, 4.5))
        for number, (name, exposure) in enumerate(runs):
            _draw_run(panels[0], f"{name}, ", exposure, number)
    else:
        figure, panels = style.tiles(len(runs), 3, sharey=True)
        for number, (axes, (name, exposure)) in enumerate(zip(panels, runs, strict=True)):
            _draw_run(axes, "", exposure, number)
            style.title(axes, name)
    for axes in panels:
        axes.set(xlabel="position in the target, in tokens", ylabel="tokens right, %")
        axes.set_ylim(-2, 102)
        style.tidy(axes)
        style.add_legend(axes)
    return figure


def _draw_run(axes: "Axes", name: str, exposure: "Exposure", number: int) -> None:
    drawn = int((exposure.tokens >= min(_FEWEST, int(exposure.tokens.max()))).sum())
    for label, right, line in (
        ("after the right words", exposure.forced, "-"),
        ("after its own", exposure.free, "--"),
    ):
        share = 100 * right[:drawn] / exposure.tokens[:drawn]
        look: dict[str, Any] = {"color": style.colour(number), "marker": ".", "linestyle": line}
        axes.plot(range(1, drawn + 1), share, label=f"{name}{label}", **look)


def table(record: ExposureBias) -> list[str]:
    """The share of right tokens of each run, and what is lost."""
    lines = [f"{'run':<32}{'after right words':>20}{'after its own':>16}{'lost':>8}"]
    for name, found in record.runs.items():
        forced, free = 100 * found.forced_accuracy, 100 * found.free_accuracy
        lines.append(f"{name:<32}{forced:>18.2f} %{free:>14.2f} %{forced - free:>8.2f}")
    return lines
