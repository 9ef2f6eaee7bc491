"""Recurrent units over a text as pictures: gates as heat maps, text in the colours of a cell."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.probes.gate import Finding, GateView

COLUMNS, ROWS = 80, 10  # of the text that is shown for each property
_SIGNS = {"\n": "↵", " ": "␣", "\t": "⇥"}
_STATES = ("cell", "hidden")


def readable(piece: str) -> str:
    """A token as a label: what does not print is shown by a sign."""
    return "".join(_SIGNS.get(c, c if c.isprintable() else "·") for c in piece)


def save_gates(view: GateView, pieces: Sequence[str], title: str, path: Path) -> None:
    """A heat map a gate: time and the tokens read along x, units along y."""
    rows = len(view.units) + 1
    size = max(6.0, 2.5 + 0.16 * len(pieces)), 1.2 + len(view.gates) * (0.5 + 0.18 * rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(view.gates), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, values) in zip(panels, view.gates.items(), strict=True):
        is_state = name in _STATES  # which has a sign; a gate lies between shut and open
        limit = float(values.abs().max()) or 1.0
        image = axes.imshow(
            values.numpy(),
            aspect="auto",
            interpolation="nearest",
            cmap="RdBu_r" if is_state else "viridis",
            vmin=-limit if is_state else 0,
            vmax=limit if is_state else 1,
        )
        axes.axhline(rows - 1.5, color="white", linewidth=2)
        axes.set_yticks(range(rows), [*map(str, view.units), "mean"], fontsize=7)
        axes.set_ylabel(f"{name}\nunit", fontsize=9)
        figure.colorbar(image, ax=axes, pad=0.01)
    labels = [readable(piece) for piece in pieces]
    panels[-1].set_xticks(
        range(len(labels)),
        labels,
        family="monospace",
        fontsize=8,
        rotation=90 if max(map(len, labels)) > 1 else 0,
        parse_math=False,
    )
    panels[0].set_title(title, fontsize=10, parse_math=False)
    save_figure(figure, path)


def save_cells(
    findings: Sequence[Finding],
    pieces: Sequence[str],
    properties: dict[str, Tensor],
    path: Path,
) -> None:
    """For each property, a stretch of text where it varies most, coloured by its best unit.

    Pieces and properties are of the tokens that the findings' activity is of.
    """
    figure = Figure(figsize=(11, 0.4 + len(findings) * (0.55 + 0.19 * ROWS)), layout="constrained")
    panels = figure.subplots(len(findings), 1, squeeze=False)[:, 0]
    for axes, finding in zip(panels, findings, strict=True):
        start = liveliest_start(properties[finding.property], pieces)
        characters, colours = lay_out(pieces[start:], finding.activity[start:])
        image = axes.imshow(
            colours,
            cmap="RdYlGn",
            vmin=-1,
            vmax=1,
            alpha=0.6,  # pale enough to read on
            aspect="auto",
            interpolation="nearest",
        )
        _write(axes, characters)
        axes.set_axis_off()
        axes.set_title(
            f"{finding.property}: layer {finding.layer}, unit {finding.unit}; correlation "
            f"{finding.correlation:.2f} on this half of the text",
            fontsize=9,
            loc="left",
        )
        figure.colorbar(image, ax=axes, pad=0.01, label="activity")
    save_figure(figure, path)


def liveliest_start(values: Tensor, pieces: Sequence[str]) -> int:
    """Where to begin to show a text: at a line's beginning, before a property varies most."""
    window = min(len(pieces), COLUMNS * ROWS // 2)
    spread = values.unfold(0, window, 1).std(1, correction=0)
    best = int(spread.argmax())
    for start in range(best, max(0, best - 2 * COLUMNS), -1):  # further back it would be lost
        if pieces[start - 1].endswith("\n"):
            return start
    return 0 if best <= 2 * COLUMNS else best


def lay_out(pieces: Sequence[str], activity: Tensor) -> tuple[list[list[str]], NDArray[np.float64]]:
    """Characters in rows that break where lines do, or are full; and the colour of each."""
    characters: list[list[str]] = [[]]
    colours = np.full((ROWS, COLUMNS), np.nan)
    for piece, value in zip(pieces, activity.tolist(), strict=True):
        for character in piece:
            if len(characters[-1]) == COLUMNS or (characters[-1][-1:] == ["\n"]):
                if len(characters) == ROWS:
                    return characters, colours
                characters.append([])
            colours[len(characters) - 1, len(characters[-1])] = value
            characters[-1].append(character)
    return characters, colours


def _write(axes: Axes, characters: Sequence[Sequence[str]]) -> None:
    for y, row in enumerate(characters):
        for x, character in enumerate(row):
            if character != " ":
                axes.text(
                    x,
                    y,
                    readable(character),
                    ha="center",
                    va="center",
                    fontsize=7,
                    family="monospace",
                    parse_math=False,
                )
