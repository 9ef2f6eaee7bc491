"""Training curves of one or several runs, from their logs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from landmark.pipelines.inspection.loss import Records, loss_points
from landmark.plots.figure import save_figure

Measure = Literal["step", "tokens", "minutes"]
_AXES = {"step": "step", "tokens": "tokens trained on", "minutes": "minutes of training"}
_STYLES = ("-", "--", ":", "-.")  # one a player
_KINDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("train", "training", {"alpha": 0.5}),
    ("valid", "validation", {"marker": "o", "markersize": 3}),
)


def save_curves(logs: Mapping[str, Records], path: Path) -> None:
    """Training and validation losses against steps and against time, one colour a run."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for number, (name, records) in enumerate(logs.items()):
        _draw(by_step, name, records, "step", f"C{number}")
        _draw(by_time, name, records, "minutes", f"C{number}")
    by_step.set(xlabel="step", ylabel="loss")
    by_time.set(xlabel=_AXES["minutes"])
    _add_legend(by_step)
    figure.savefig(path, dpi=150)


def save_losses(
    logs: Mapping[str, Records], by: Measure, path: Path, logarithmic: bool = False
) -> None:
    """The same against one measure of how far a training is; if wished, both axes by powers."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for number, (name, records) in enumerate(logs.items()):
        _draw(axes, name, records, by, f"C{number}")
    if logarithmic:
        axes.set(xscale="log", yscale="log")
    if by == "tokens":
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.set(xlabel=_AXES[by], ylabel="loss, nats")
    axes.grid(alpha=0.3, which="both" if logarithmic else "major")
    _add_legend(axes)
    save_figure(figure, path)


def _draw(axes: Axes, name: str, records: Records, by: Measure, colour: str) -> None:
    for kind, word, look in _KINDS:
        curves = loss_points(records, kind)  # type: ignore[arg-type]
        for (loss, points), style in zip(curves.items(), _STYLES, strict=False):
            drawn = [point for point in points if by in point]
            if drawn:
                axes.plot(
                    [point[by] for point in drawn],
                    [point["loss"] for point in drawn],
                    label=f"{name}: {word} {loss}",
                    **{**look, "color": colour, "linestyle": style},
                )


def _add_legend(axes: Axes) -> None:
    if axes.lines:
        for text in axes.legend(fontsize=8).get_texts():
            text.set_parse_math(False)  # a "$" in a run's name is no formula
