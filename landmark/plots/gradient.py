"""Gradient flow as a picture: how far losses reach back, and why they vanish or explode."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from landmark.plots.figure import save_figure
from landmark.probes.gradient import Flow, Spectrum, Training

_STYLES = ("-", "--", ":", "-.")


def save_gradients(
    flows: Sequence[Flow],
    toy: Mapping[float, Sequence[float]],
    spectra: Sequence[Spectrum],
    trainings: Sequence[Training],
    path: Path,
) -> None:
    """Flows over distance, the toy's powers, singular values, and trainings with and without."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    panels = figure.subplot_mosaic("FFFFTT;SSNNLL")
    colours = _colours([flow.network for flow in flows])
    _draw_flows(panels["F"], flows, colours)
    _draw_toy(panels["T"], toy)
    _draw_spectra(panels["S"], spectra, colours)
    _draw_trainings(panels["N"], panels["L"], trainings)
    save_figure(figure, path)


def _colours(networks: Sequence[str]) -> dict[str, str]:
    """One for each network, the same in every panel."""
    return {name: f"C{number}" for number, name in enumerate(dict.fromkeys(networks))}


def _draw_flows(axes: Axes, flows: Sequence[Flow], colours: Mapping[str, str]) -> None:
    """A colour a network, a line style for each of its states."""
    drawn: dict[str, int] = {}
    for flow in flows:
        number = drawn[flow.network] = drawn.get(flow.network, -1) + 1
        steps = range(1, len(flow.norms) + 1)
        axes.plot(
            steps,
            flow.norms[::-1],
            color=colours[flow.network],
            linestyle=_STYLES[number % len(_STYLES)],
            label=f"{flow.network}: {flow.place}",
        )
    axes.set_yscale("log")
    axes.set(xlabel="step t", ylabel="norm of d loss / d state at t")
    axes.set_title("How far the loss at the last step reaches back", fontsize=10)
    _add_legend(axes)


def _draw_toy(axes: Axes, toy: Mapping[float, Sequence[float]]) -> None:
    for weight, values in toy.items():
        axes.plot(values, label=f"w = {weight}: {values[-1]:,.5g} in the end")
    axes.set_yscale("log")
    axes.set(xlabel="steps t", ylabel="w to the power of t")
    axes.set_title("One unit, one weight: the gradient over t steps", fontsize=10)
    _add_legend(axes)


def _draw_spectra(axes: Axes, spectra: Sequence[Spectrum], colours: Mapping[str, str]) -> None:
    """Every singular value a dot, a column a gate."""
    for place, spectrum in enumerate(spectra):
        columns = [place] * len(spectrum.values)
        axes.plot(columns, spectrum.values, "_", color=colours[spectrum.network], alpha=0.6)
    axes.axhline(1, color="0.5", linewidth=0.8)
    names = [f"{spectrum.network}: {spectrum.gate}" for spectrum in spectra]
    size = 8 if len(names) < 16 else 6
    axes.set_xticks(
        range(len(names)), names, rotation=45, ha="right", fontsize=size, parse_math=False
    )
    axes.set_title("Singular values of the recurrent matrices", fontsize=10)


def _draw_trainings(norms: Axes, losses: Axes, trainings: Sequence[Training]) -> None:
    for training in trainings:
        clip = training.clip_norm
        label = "as it is" if clip is None else f"clipped to norm {clip:g}"
        norms.plot(training.norms, label=label, linewidth=0.8)
        losses.plot(training.losses, label=label, linewidth=0.8)
    norms.set_yscale("log")
    norms.set(xlabel="update", ylabel="norm of the gradient, before clipping")
    losses.set(xlabel="update", ylabel="loss")
    for axes in (norms, losses):
        axes.set_title("A plain RNN, largest singular value 3", fontsize=10)
        _add_legend(axes)


def _add_legend(axes: Axes) -> None:
    axes.grid(alpha=0.3)
    for text in axes.legend(fontsize=8).get_texts():
        text.set_parse_math(False)  # a "$" in a run's name is no formula
