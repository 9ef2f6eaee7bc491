"""The lecture's picture of gradient descent against momentum, and what each step follows."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.plots.descent.film import Trace, save_traces, trace
from landmark.plots.descent.path import draw_key, draw_surface, tidy, trace_path
from landmark.probes.descent.momentum import MomentumComparison, directions
from landmark.probes.descent.path import DescentPath
from landmark.probes.descent.surface import SURFACES


def save_momentum(comparison: MomentumComparison, path: Path) -> None:
    """The ravine with three paths above; below, the direction of each step across and along it."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplot_mosaic("PP;AL", height_ratios=(3, 2))
    draw_surface(panels["P"], SURFACES["ravine"])
    walked = (
        (comparison.plain, "#333333", "gradient descent"),
        (comparison.same_rate, "#1f77b4", "momentum, the same rate"),
        (comparison.own_rate, "#d62728", "momentum, its own rate"),
    )
    traces: list[Trace] = []
    for one, colour, label in walked:
        traces.append(trace_path(panels["P"], one, colour, "-", f"{label}  {one.rate:.2g}"))
    for axis, panel, where in ((1, "A", "across the ravine"), (0, "L", "along the ravine")):
        for one, colour, label in walked:
            traces.append(_trace_directions(panels[panel], one, axis, colour, label))
        panels[panel].axhline(0, color="0.6", linewidth=0.8)
        tidy(panels[panel])
        panels[panel].set(xlabel="step", ylabel=f"{'xy'[axis]} of what the step follows")
        panels[panel].set_title(f"Gradient or velocity {where}", fontsize=10)
    panels["P"].set_title("In a ravine, momentum allows a rate that plain descent cannot take")
    draw_key(panels["P"], SURFACES["ravine"])
    save_traces(figure, traces, path)


def _trace_directions(axes: Axes, path: DescentPath, axis: int, colour: str, label: str) -> Trace:
    values = [direction[axis] for direction in directions(path)]
    return trace(axes, range(1, len(values) + 1), values, colour, "-", label)
