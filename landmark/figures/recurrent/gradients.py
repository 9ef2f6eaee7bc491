"""Vanishing gradients over time: RNN, LSTM, GRU, Transformer, and trained runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.probes.gradient import Flow, Spectrum, Training

TEXTS = 16  # whose gradients are looked at
DISTANCES = (1, 10, 50)
TOY_WEIGHTS, TOY_STEPS = (1.01, 0.99), 1000
CLIP_NORMS = (None, 1.0)


@settings
class Options:
    runs: Annotated[tuple[Path, ...], Positional("[RUN]...")] = ()
    """Language models to show beside untrained networks."""
    length: Annotated[int, Field(ge=2, le=10_000)] = 100
    """Number of tokens to read."""
    output: Path = Path("gradients.png")
    """Output file."""
    seed: int = 1
    """Random seed."""


@dataclass(frozen=True)
class Gradients:
    """Gradients of the last loss by distance, and what makes them vanish or explode."""

    length: int
    seed: int
    flows: "list[Flow]"
    toy: dict[float, list[float]]
    """Powers of one weight."""
    singular_values: "list[Spectrum]"
    clipping: "list[Training]"
    """Trainings of an exploding RNN, with and without clipping."""


def compute(options: Options, report: Report) -> Gradients:
    """Measure fresh networks and the runs, and train the exploding RNN."""
    from landmark.probes.gradient import powers, train_exploding

    length, seed = options.length, options.seed
    flows, spectra = _look_inside(options.runs, length, seed)
    toy = {weight: powers(weight, TOY_STEPS).tolist() for weight in TOY_WEIGHTS}
    trainings = [train_exploding(clip, seed) for clip in CLIP_NORMS]
    return Gradients(length, seed, flows, toy, spectra, trainings)


def _look_inside(
    runs: Sequence[Path], length: int, seed: int
) -> "tuple[list[Flow], list[Spectrum]]":
    """Gradients and singular values of fresh networks, then of the runs."""
    import torch

    from landmark.figures.recurrent.reading import open_recurrent
    from landmark.probes.gradient import fresh_flows, fresh_models, recurrent_flows, spectra

    loaded = {str(run): open_recurrent(run, None, "cpu") for run in runs}
    fresh = fresh_models(length, seed)
    flows, found = fresh_flows(fresh, length, TEXTS, seed), []
    for name, model in fresh.items():
        found += spectra(name, model)
    for name, pipeline in loaded.items():
        # It reads what it has written itself: for that, the run is enough.
        said: list[int] = []
        for go in count():  # a text may end early: the next one follows it
            for text in pipeline.generate(length=length + 1, samples=TEXTS, seed=seed + go):
                said += text.tokens
            if len(said) >= TEXTS * (length + 1):
                break
        tokens = torch.tensor(said[: TEXTS * (length + 1)]).view(TEXTS, length + 1)
        flows += recurrent_flows(name, pipeline.model, tokens)
        found += spectra(name, pipeline.model)
    return flows, found


def draw(record: Gradients) -> "Figure":
    """Flows over distance, the toy's powers, singular values, and trainings with and without."""
    from matplotlib.figure import Figure

    groups = _share_out(record.flows)
    if len(groups) == 1:
        mosaic = [[*"0000TT"], [*"SSNNLL"]]
    else:
        flows = [str(number) for number in range(len(groups))]
        flows += ["."] * (len(flows) % 2)
        pairs = [flows[start : start + 2] for start in range(0, len(flows), 2)]
        mosaic = [*([*[left] * 3, *[right] * 3] for left, right in pairs), [*"SSSSSS"]]
        mosaic.append([*"TTNNLL"])
    figure = Figure(figsize=(13, 4.5 * len(mosaic)), layout="constrained")
    panels = figure.subplot_mosaic(mosaic)
    first = panels["0"]
    colours = _colours(record.flows)
    for number, flows_shown in enumerate(groups):
        axes = panels[str(number)]
        if axes is not first:
            axes.sharey(first)
        _draw_flows(axes, flows_shown, colours)
    _draw_toy(panels["T"], record.toy)
    _draw_spectra(panels["S"], record.singular_values, colours)
    _draw_trainings(panels["N"], panels["L"], record.clipping)
    return figure


def _share_out(flows: "Sequence[Flow]") -> "list[list[Flow]]":
    """Networks together as long as their states are few enough lines for a panel."""
    groups: list[list[Flow]] = [[]]
    for name in dict.fromkeys(flow.network for flow in flows):
        own = [flow for flow in flows if flow.network == name]
        if groups[-1] and len(groups[-1]) + len(own) > style.MOST_LINES:
            groups.append([])
        groups[-1] += own
    return groups


def _colours(flows: "Sequence[Flow]") -> dict[str, str]:
    """One for each network, the same in every panel."""
    names = dict.fromkeys(flow.network for flow in flows)
    return {name: style.colour(number) for number, name in enumerate(names)}


def _draw_flows(axes: "Axes", flows: "Sequence[Flow]", colours: Mapping[str, str]) -> None:
    """A colour a network, a line style for each of its states."""
    drawn: dict[str, int] = {}
    for flow in flows:
        number = drawn[flow.network] = drawn.get(flow.network, -1) + 1
        axes.plot(
            range(1, len(flow.norms) + 1),
            flow.norms[::-1],
            color=colours[flow.network],
            linestyle=style.LINES[number % len(style.LINES)],
            label=f"{flow.network}: {flow.place}",
        )
    axes.set_yscale("log")
    axes.set(xlabel="step t", ylabel="norm of d loss / d state at t")
    style.title(axes, "Gradient of the last step's loss at each step")
    style.tidy(axes)
    style.add_legend(axes)


def _draw_toy(axes: "Axes", toy: Mapping[float, Sequence[float]]) -> None:
    for number, (weight, values) in enumerate(toy.items()):
        label = f"w = {weight}: {values[-1]:,.5g} in the end"
        axes.plot(values, label=label, color=style.colour(number))
    axes.set_yscale("log")
    axes.set(xlabel="steps t", ylabel="w to the power of t")
    style.title(axes, "One unit, one weight: the gradient over t steps")
    style.tidy(axes)
    style.add_legend(axes)


def _draw_spectra(axes: "Axes", spectra: "Sequence[Spectrum]", colours: Mapping[str, str]) -> None:
    """Every singular value a dash, a column a gate."""
    for place, spectrum in enumerate(spectra):
        columns = [place] * len(spectrum.values)
        axes.plot(columns, spectrum.values, "_", color=colours[spectrum.network], alpha=0.6)
    axes.axhline(1, color="0.5", linewidth=0.8)
    names = [f"{spectrum.network}: {spectrum.gate}" for spectrum in spectra]
    size = 8 if len(names) < 16 else 6
    axes.set_xticks(
        range(len(names)), names, rotation=45, ha="right", fontsize=size, parse_math=False
    )
    style.title(axes, "Singular values of the recurrent matrices")


def _draw_trainings(norms: "Axes", losses: "Axes", trainings: "Sequence[Training]") -> None:
    for number, training in enumerate(trainings):
        clip = training.clip_norm
        label = "not clipped" if clip is None else f"clipped to norm {clip:g}"
        for axes, values in ((norms, training.norms), (losses, training.losses)):
            axes.plot(values, label=label, linewidth=0.8, color=style.colour(number))
    norms.set_yscale("log")
    norms.set(xlabel="update", ylabel="norm of the gradient, before clipping")
    losses.set(xlabel="update", ylabel="loss")
    for axes in (norms, losses):
        style.title(axes, "A plain RNN, largest singular value 3 at first")
        style.tidy(axes)
        style.add_legend(axes)


def table(record: Gradients) -> list[str]:
    """Norms of the gradient at some distances, then the other panels in a line or two each."""
    length, flows = record.length, record.flows
    distances = [*(d for d in DISTANCES if d < length - 1), length - 1]
    names = [f"{flow.network}: {flow.place}" for flow in flows]
    width = max(len("distance"), *map(len, names)) + 2
    lines = [f"{'distance':<{width}}" + "".join(f"{distance:>10}" for distance in distances)]
    for name, flow in zip(names, flows, strict=True):
        lines.append(f"{name:<{width}}" + "".join(f"{flow.norms[d]:>10.1e}" for d in distances))
    return lines + _causes(record)


def _causes(record: Gradients) -> list[str]:
    lines = [
        f"{weight}^{len(values) - 1} = {values[-1]:,.5g}" for weight, values in record.toy.items()
    ]
    largest: dict[str, float] = {}
    for spectrum in record.singular_values:
        largest[spectrum.network] = max(largest.get(spectrum.network, 0.0), spectrum.values[0])
    lines.append("largest singular value: " + ", ".join(f"{n} {v:.2f}" for n, v in largest.items()))
    for training in record.clipping:
        how = "not clipped" if training.clip_norm is None else f"clipped to {training.clip_norm:g}"
        last = training.losses[-20:]
        lines.append(
            f"exploding RNN, {how}: loss {sum(last) / len(last):.3f} after {len(training.losses)} "
            f"updates, gradients up to {max(training.norms):.3g}"
        )
    return lines
