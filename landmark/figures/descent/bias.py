"""Adam with bias correction and without: the sizes of its steps, and what comes of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import settings
from landmark.figures import style
from landmark.figures.figure import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.probes.descent.bias import BiasRun

_TOGETHER = style.MOST_LINES // 2  # β₂s of a row: each is drawn with correction and without
_WIDTH = 15  # of the moving average that makes curves of single batches readable


@settings
class Options:
    """Which trainings."""

    beta2: tuple[float, ...] = ()
    """Value of beta2, repeatable; default: 0.99, 0.999, 0.9999."""
    rate: tuple[float, ...] = ()
    """Learning rate, repeatable; default: nine from 1e-4 to 1."""
    steps: Annotated[int, Field(ge=2, le=100_000)] = 300
    """Number of training steps."""
    seed: int = 1
    """Random seed of the initial weights."""
    output: Path = Path("bias.png")
    """Output file."""


@dataclass(frozen=True)
class Bias:
    """A training for each β₂ and each rate, with correction and without."""

    steps: int
    seed: int
    runs: "list[BiasRun]"

    @property
    def beta2s(self) -> list[float]:
        return list(dict.fromkeys(run.beta2 for run in self.runs))


def compute(options: Options, report: Report) -> Bias:
    """Train a small network by Adam."""
    from landmark.probes.descent.bias import BETA2S, RATES, train_with_and_without

    beta2s = list(dict.fromkeys(options.beta2 or BETA2S))
    rates = sorted(set(options.rate or RATES))
    runs = train_with_and_without(beta2s, rates, options.steps, options.seed)
    return Bias(options.steps, options.seed, runs)


def table(record: Bias) -> list[str]:
    """The losses in the end."""
    rates = sorted({run.rate for run in record.runs})
    head = f"{'training loss in the end, by rate':<34}"
    lines = [head + "".join(f"{rate:>8.2g}" for rate in rates)]
    for beta2 in record.beta2s:
        for corrected, word in ((True, "corrected"), (False, "not corrected")):
            own = [r for r in record.runs if (r.beta2, r.corrected) == (beta2, corrected)]
            losses = "".join(f"{run.final:>8.3f}" for run in own)
            lines.append(f"{f'beta2 {beta2:g}, {word}':<34}{losses}")
    return lines


def draw(record: Bias) -> "Figure":
    """The size of a step, the losses at one rate, and the losses in the end by rate.

    Of many β₂s, a row for each few.
    """
    from matplotlib.lines import Line2D

    beta2s = record.beta2s
    groups = [beta2s[at : at + _TOGETHER] for at in range(0, len(beta2s), _TOGETHER)]
    figure, grid = style.panels(len(groups), 3, size=(4.2, 3.7), sharex="col", sharey="col")
    for row, group in zip(grid, groups, strict=True):
        colours = {beta2: style.colour(number) for number, beta2 in enumerate(group)}
        _draw_sizes(row[0], colours, record.steps)
        _draw_curves(row[1], colours, record.runs)
        _draw_ends(row[2], colours, record.runs)
        handles = [Line2D([], [], color=colours[beta2], label=f"β₂ = {beta2:g}") for beta2 in group]
        handles.append(Line2D([], [], color="0.3", linestyle="-", label="corrected"))
        handles.append(Line2D([], [], color="0.3", linestyle="--", label="not corrected"))
        row[2].legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8, frameon=False
        )
    style.heading(figure, "Adam with and without bias correction")
    return figure


def _draw_sizes(axes: "Axes", colours: dict[float, str], steps: int) -> None:
    """How many times too large steps are at first."""
    from landmark.probes.descent.bias import BETA1, excess

    for beta2, colour in colours.items():
        sizes = [excess(BETA1, beta2, step) for step in range(1, steps + 1)]
        axes.plot(range(1, steps + 1), sizes, color=colour, linestyle="--", linewidth=1.6)
    axes.axhline(1, color="0.3", linewidth=1.2)
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel="step size / corrected step size")
    style.title(axes, "step size without correction")
    style.tidy(axes)


def _draw_curves(axes: "Axes", colours: dict[float, str], runs: "list[BiasRun]") -> None:
    """Losses by step, at the rate that is best with correction."""
    import numpy as np

    from landmark.probes.descent.bias import best_rate

    rate = best_rate(runs)
    for run in runs:
        if run.rate == rate and run.beta2 in colours:
            smooth = np.convolve(np.pad(run.losses, (_WIDTH - 1, 0), "edge"), np.ones(_WIDTH))
            axes.plot(
                range(1, len(run.losses) + 1),
                smooth[_WIDTH - 1 : -_WIDTH + 1] / _WIDTH,
                **_look(run, colours),
            )
    axes.set(yscale="log", xlabel="step", ylabel=f"training loss, mean of {_WIDTH} batches")
    style.title(axes, f"loss by step at a learning rate of {rate:.2g}, the best with correction")
    style.tidy(axes)


def _draw_ends(axes: "Axes", colours: dict[float, str], runs: "list[BiasRun]") -> None:
    """As in figure 4 of the paper: the loss in the end, by rate."""
    for beta2 in colours:
        for corrected in (True, False):
            own = [run for run in runs if run.beta2 == beta2 and run.corrected == corrected]
            axes.plot(
                [run.rate for run in own], [run.final for run in own],
                marker="o" if corrected else "s", markersize=3.5, **_look(own[0], colours),
            )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="training loss in the end")
    style.title(axes, f"loss after {len(runs[0].losses)} steps by learning rate")
    style.tidy(axes)


def _look(run: "BiasRun", colours: dict[float, str]) -> dict[str, Any]:
    line = "-" if run.corrected else "--"
    return {"color": colours[run.beta2], "linestyle": line, "linewidth": 1.4}
