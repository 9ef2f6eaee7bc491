"""Units of a recurrent language model that track quotes, brackets, indentation or position.

Karpathy, Johnson and Li 2015, arXiv 1506.02078.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.style import readable
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from torch import Tensor

    from landmark.probes.gate import CellSearch

COLUMNS, ROWS = 80, 10  # of the text that is shown for each property


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    file: Annotated[Path, Positional("FILE")]
    """Text file to read, plain or gzipped."""
    output: Path = Path("cells.png")
    """Output file."""
    length: Annotated[int, Field(ge=1, le=limits.LENGTH)] = 50_000
    """Maximum number of characters to read."""


@dataclass(frozen=True)
class Cells:
    """The unit that tracks each property best, and the text that it was judged on."""

    tokens: int
    search: "CellSearch"
    pieces: list[str]
    """Of the second half of the text, as the findings' activity is."""
    properties: dict[str, "Tensor"]
    """At each of these pieces."""
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        found = [
            {key: value for key, value in vars(finding).items() if key != "activity"}
            for finding in self.search.findings
        ]
        return {"tokens": self.tokens, "findings": found, "missing": self.search.missing}


def compute(options: Options, report: Report) -> Cells:
    """Search on the first half of a text; the second judges."""
    import torch

    from landmark.figures.recurrent.reading import cut, open_recurrent
    from landmark.probes.gate import find_cells, measure_properties

    file = options.file
    pipeline = open_recurrent(options.run, options.checkpoint, options.device)
    text, is_whole = _read(file, options.length)
    tokens, pieces = cut(
        pipeline.tokenizer, text, lambda offset: f"{file}:{text.count(chr(10), 0, offset) + 1}"
    )
    properties = measure_properties(pieces)
    read = torch.tensor(tokens, device=pipeline.device)
    try:
        search = find_cells(pipeline.model, read, properties)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    half = {name: values[search.start :] for name, values in properties.items()}
    warning = f"{file}: only its first {options.length:,} characters are read (--length)"
    warnings = () if is_whole else (warning,)
    return Cells(len(tokens), search, pieces[search.start :], half, warnings)


def _read(file: Path, length: int) -> tuple[str, bool]:
    """The beginning of a text file, and whether that is all of it."""
    from landmark.data.text_file import read_text

    text = ""
    for line in read_text(file):
        if len(text) + len(line) > length:
            return text + line[: length - len(text)], False
        text += line
    if not text:
        raise UserError(f"{file}: is empty: give some text")
    return text, True


def draw(record: Cells) -> "Figure":
    """For each property, a stretch of text where it varies most, coloured by its best unit."""
    from matplotlib.figure import Figure

    findings = record.search.findings
    size = 11, 0.4 + len(findings) * (0.55 + 0.19 * ROWS)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(findings), 1, squeeze=False)[:, 0]
    for axes, finding in zip(panels, findings, strict=True):
        start = liveliest_start(record.properties[finding.property], record.pieces)
        characters, colours = lay_out(record.pieces[start:], finding.activity[start:])
        image = axes.imshow(
            colours,
            cmap=style.DIVERGING,
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
    return figure


def liveliest_start(values: "Tensor", pieces: Sequence[str]) -> int:
    """Where to begin to show a text: at a line's beginning, before a property varies most."""
    window = min(len(pieces), COLUMNS * ROWS // 2)
    spread = values.unfold(0, window, 1).std(1, correction=0)
    best = int(spread.argmax())
    for start in range(best, max(0, best - 2 * COLUMNS), -1):  # further back it would be lost
        if pieces[start - 1].endswith("\n"):
            return start
    return 0 if best <= 2 * COLUMNS else best


def lay_out(
    pieces: Sequence[str], activity: "Tensor"
) -> "tuple[list[list[str]], NDArray[np.float64]]":
    """Characters in rows that break where lines do, or are full; and the colour of each."""
    import numpy as np

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


def _write(axes: "Axes", characters: Sequence[Sequence[str]]) -> None:
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


def table(record: Cells) -> list[str]:
    """The best unit of each property; chosen on the first half, judged on the second."""
    head = f"{'property':<18}{'layer':>6}{'unit':>6}{'first half':>12}{'second half':>13}"
    return [
        head,
        *(
            f"{found.property:<18}{found.layer:>6}{found.unit:>6}{found.chosen_at:>12.3f}"
            f"{found.correlation:>13.3f}"
            for found in record.search.findings
        ),
        *(f"{name}: {why}" for name, why in record.search.missing.items()),
    ]
