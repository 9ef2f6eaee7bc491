"""BLEU against parameters, one line a network, each point a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from landmark.plots.figure import save_figure
from landmark.plots.interval import whiskers
from landmark.tasks.translation.size import SizedScore

_MARKERS = "osD^v"  # one a network, also told apart without colours
_ABOVE = {"xytext": (-6, 4), "ha": "right", "va": "bottom"}
_BELOW = {"xytext": (6, -4), "ha": "left", "va": "top"}
_HALO = withStroke(linewidth=2, foreground="white")  # a name stays legible across a line


def save_sizes(scored: Sequence[SizedScore], title: str, path: Path) -> None:
    """Each run's BLEU with its 95 % interval; `title` says of what sentences."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    networks = dict.fromkeys(entry.network for entry in scored)
    for number, network in enumerate(networks):
        entries = sorted(
            (entry for entry in scored if entry.network == network),
            key=lambda entry: entry.parameters,
        )
        _draw_network(axes, network, entries, number)
    _scale_parameters(axes, [entry.parameters for entry in scored])
    axes.set(xlabel="parameters", ylabel="BLEU", title=title)
    axes.title.set_parse_math(False)
    axes.margins(y=0.12)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    save_figure(figure, path)


def _draw_network(axes: Axes, network: str, entries: Sequence[SizedScore], number: int) -> None:
    color, marker = f"C{number}", _MARKERS[number % len(_MARKERS)]
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
            textcoords="offset points", fontsize=9, color=color, path_effects=[_HALO], zorder=3,
        )  # fmt: skip
        label.set_parse_math(False)  # a "$" in a name is no formula


def _scale_parameters(axes: Axes, parameters: Sequence[int]) -> None:
    """A logarithmic axis whose numbers are written out (700 k, 1.5 M), few or many decades wide."""
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
