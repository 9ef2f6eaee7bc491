"""The gates of a recurrent language model while it reads a text, as heat maps."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.probes.gate import GateView

LONGEST = 400  # tokens across a heat map
_STATES = ("cell", "hidden")


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    text: Annotated[str, Positional("TEXT")]
    """Input text."""
    layer: int | None = None
    """Layer, from 1; default: the last."""
    units: int = 8
    """Number of units to show: those that vary most."""
    output: Path = Path("gates.png")
    """Output file."""


@dataclass(frozen=True)
class Gates:
    """Gates over the tokens of a text; the last row of each is the mean over all units."""

    title: str
    cell: str
    view: "GateView"
    tokens: list[str]

    def json(self) -> dict[str, Any]:
        gates = self.view.gates
        return {
            "cell": self.cell,
            "layer": self.view.layer,
            "units": list(self.view.units),
            "tokens": self.tokens,
            "gates": {name: rows[:-1].tolist() for name, rows in gates.items()},
            "means": {name: rows[-1].tolist() for name, rows in gates.items()},
        }


def compute(options: Options, report: Report) -> Gates:
    """Read a text and keep what the units that vary most do."""
    import torch

    from landmark.figures.recurrent.reading import cut, open_recurrent
    from landmark.probes.gate import view_gates

    pipeline = open_recurrent(options.run, options.checkpoint, options.device)
    tokens, pieces = cut(
        pipeline.tokenizer, options.text, lambda offset: f"the text, character {offset + 1}"
    )
    if len(tokens) > LONGEST:
        raise UserError(f"the text has {len(tokens):,} tokens: the heat map's limit is {LONGEST}")
    (opening,) = pipeline.tokenizer.encode([pipeline.opening])  # read before, as by generate
    read = torch.tensor([*opening, *tokens], device=pipeline.device)
    view = view_gates(pipeline.model, read, options.layer, options.units, len(opening))
    cell = pipeline.model.config.cell
    return Gates(f"{options.run}: {cell}, layer {view.layer}", cell, view, pieces)


def draw(record: Gates) -> "Figure":
    """A heat map a gate: time and the tokens read along x, units along y."""
    from matplotlib.figure import Figure

    view = record.view
    rows = len(view.units) + 1
    size = max(6.0, 2.5 + 0.16 * len(record.tokens)), 1.2 + len(view.gates) * (0.5 + 0.18 * rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(view.gates), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, values) in zip(panels, view.gates.items(), strict=True):
        is_state = name in _STATES  # which has a sign; a gate lies between shut and open
        limit = float(values.abs().max()) or 1.0
        image = axes.imshow(
            values.numpy(),
            aspect="auto",
            interpolation="nearest",
            cmap=style.DIVERGING if is_state else style.SEQUENTIAL,
            vmin=-limit if is_state else 0,
            vmax=limit if is_state else 1,
        )
        axes.axhline(rows - 1.5, color="white", linewidth=2)
        axes.set_yticks(range(rows), [*map(str, view.units), "mean"], fontsize=7)
        axes.set_ylabel(f"{name}\nunit", fontsize=9)
        figure.colorbar(image, ax=axes, pad=0.01)
    labels = [style.readable(piece) for piece in record.tokens]
    panels[-1].set_xticks(
        range(len(labels)),
        labels,
        family="monospace",
        fontsize=8,
        rotation=90 if max(map(len, labels)) > 1 else 0,
        parse_math=False,
    )
    style.heading(figure, record.title)
    return figure


def table(record: Gates) -> list[str]:
    """The mean of each gate over all units and tokens."""
    view = record.view
    return [
        f"{record.cell}, layer {view.layer}, units {', '.join(map(str, view.units))}",
        *(f"{name:<8}mean {rows[-1].mean():6.3f}" for name, rows in view.gates.items()),
    ]
