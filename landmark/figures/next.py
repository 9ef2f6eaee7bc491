"""Predicted next tokens and surprisal at each position of a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.style import COLOURS, readable
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 128  # tokens across a picture
_DARKEST = 12.0  # bits of surprise that have the full colour
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
  body {{ font: 15px/1.7 system-ui, sans-serif; margin: 1.5rem auto; max-width: 60rem;
         padding: 0 1rem; color: black; background: white; }}
  h1 {{ font-size: 1.1rem; overflow-wrap: anywhere; }}
  .text {{ font-family: ui-monospace, monospace; white-space: pre-wrap; }}
  .text span {{ border-radius: 3px; }}
  table {{ border-collapse: collapse; font-size: 0.85rem; }}
  th, td {{ padding: 0.1rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; }}
  td.token {{ font-family: ui-monospace, monospace; text-align: left; white-space: pre; }}
  td.came {{ outline: 2px solid #d62728; outline-offset: -2px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="text">{text}</p>
<p>The redder, the more surprising; point at a token to see what was expected in its place.</p>
<table>
<thead><tr><th>came</th><th>probability</th><th>rank</th><th>bits</th>{ranks}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    text: Annotated[str, Positional("TEXT")]
    """Input text."""
    top: Annotated[int, Field(ge=1, le=50)] = 5
    """Number of most probable tokens to show."""
    output: Path | None = None
    """Output file: .png, .svg, .pdf or .html."""


class PredictedToken(NamedTuple):
    """A place of a text, with tokens as they read."""

    token: str | None
    """What really came; None where the text has ended."""
    probability: float | None
    rank: int | None
    surprisal: float | None
    """In bits."""
    expected: list[tuple[str, float]]
    """The likeliest tokens first."""


@dataclass(frozen=True)
class NextTokenPredictions:
    """A row for each place of a text after its opening."""

    title: str
    opening: str
    """The text's beginning that nothing is expected of."""
    rows: list[PredictedToken]

    @property
    def mean_surprisal(self) -> float | None:
        came = [row.surprisal for row in self.rows if row.surprisal is not None]
        return sum(came) / len(came) if came else None

    def json(self) -> dict[str, Any]:
        return {
            "opening": self.opening,
            "mean_surprisal": self.mean_surprisal,
            "places": [row._asdict() for row in self.rows],
        }


def compute(options: Options, report: Report) -> NextTokenPredictions:
    """The likeliest tokens at each place, and the probability of what came."""
    from landmark.figures.text_reader import open_reader
    from landmark.probes.prediction import predict_next

    reader = open_reader(options.run, options.checkpoint, options.device)
    if reader.architecture == "bert":
        raise UserError(
            f"{options.run}: a BERT fills in masks and does not predict the next token: "
            "see `landmark fill`"
        )
    reading = reader.read(options.text)
    if options.top > len(reader.tokenizer):
        raise UserError(f"--top {options.top}: the vocabulary has {len(reader.tokenizer)} entries")
    rows = []
    for place, found in enumerate(predict_next(reader.network, reading.tokens, options.top)):
        if place + 1 < reading.opening:
            continue
        expected = [(reader.entry(number), share) for number, share in found.expected]
        came = found.arrival
        if came is None:
            rows.append(PredictedToken(None, None, None, None, expected))
        else:
            token = reading.pieces[place + 1]
            rows.append(
                PredictedToken(token, came.probability, came.rank, came.surprisal, expected)
            )
    opening = "" if reading.opening else reading.pieces[0]
    return NextTokenPredictions(
        f"{options.run.name or options.run}: what comes next", opening, rows
    )


def draw(record: NextTokenPredictions) -> "Figure":
    """A column a place: the surprisal, and the likeliest tokens; what came is framed."""
    from matplotlib.figure import Figure

    rows = record.rows
    if len(rows) > LONGEST:
        raise UserError(
            f"the text has {len(rows):,} places: the figure's limit is {LONGEST}: give a "
            "shorter one, or write a page (.html)"
        )
    top = len(rows[0].expected)
    longest = max(len(readable(name)) for row in rows for name, _ in row.expected)
    size = 1.8 + len(rows) * max(0.34, 0.085 * longest + 0.1), 2.6 + 0.3 * top
    figure = Figure(figsize=(max(5.0, size[0]), size[1]), layout="constrained")
    surprise, grid = figure.subplots(2, 1, sharex=True, height_ratios=(1.4, 0.3 * top))
    bits = [row.surprisal or 0.0 for row in rows]
    surprise.bar(range(len(rows)), bits, color=COLOURS[7])
    surprise.set_ylabel("surprisal, bits")
    surprise.spines[["top", "right"]].set_visible(False)
    style.heading(figure, record.title)
    image = grid.imshow(
        [[row.expected[place][1] for row in rows] for place in range(top)],
        cmap="Blues",
        vmin=0,
        vmax=1,
        aspect="auto",
    )
    _write(grid, rows)
    names = ["?" if row.token is None else readable(row.token) for row in rows]
    turn = 90 if max(map(len, names)) > 1 else 0
    grid.set_xticks(range(len(rows)), names, rotation=turn, fontsize=8, parse_math=False)
    grid.set_yticks(range(top), [str(place + 1) for place in range(top)])
    grid.set(xlabel="what really came", ylabel="expected, by rank")
    figure.colorbar(image, ax=[surprise, grid], label="probability", shrink=0.6)
    return figure


def _write(axes: "Axes", rows: Sequence[PredictedToken]) -> None:
    from matplotlib.patches import Rectangle

    for x, row in enumerate(rows):
        for y, (name, probability) in enumerate(row.expected):
            axes.text(
                x,
                y,
                readable(name),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if probability > 0.6 else "black",
                parse_math=False,  # a "$" in a text is no formula
            )
        if row.rank is not None and row.rank <= len(row.expected):
            corner = (x - 0.47, row.rank - 1.47)
            axes.add_patch(
                Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=COLOURS[1], linewidth=1.5)
            )


def page(record: NextTokenPredictions) -> str:
    """The text in colours of surprise, and a table; without scripts."""
    came = [row for row in record.rows if row.token is not None]
    top = len(record.rows[0].expected)
    return _PAGE.format(
        title=escape(record.title),
        text=escape(record.opening) + "".join(_word(row) for row in came),
        ranks="".join(f"<th>{place + 1}</th>" for place in range(top)),
        rows="\n".join(_line(row) for row in record.rows),
    )


def _word(row: PredictedToken) -> str:
    """A token of the text in its colour, with what was expected as a hint."""
    strength = min(1.0, (row.surprisal or 0.0) / _DARKEST)
    hint = ", ".join(f"{readable(name)} {share:.1%}" for name, share in row.expected)
    style = f"background: rgba(214, 39, 40, {strength:.2f})"
    return f'<span style="{style}" title="{escape(hint)}">{escape(row.token or "")}</span>'


def _line(row: PredictedToken) -> str:
    cells = [
        f'<td class="token">{escape(readable(row.token)) if row.token is not None else "?"}</td>',
        f"<td>{'' if row.probability is None else f'{row.probability:.2%}'}</td>",
        f"<td>{'' if row.rank is None else f'{row.rank:,}'}</td>",
        f"<td>{'' if row.surprisal is None else f'{row.surprisal:.2f}'}</td>",
    ]
    for place, (name, share) in enumerate(row.expected):
        kind = "token came" if row.rank == place + 1 else "token"
        style = f"background: rgba(31, 119, 180, {0.8 * share:.2f})"
        cells.append(
            f'<td class="{kind}" style="{style}">{escape(readable(name))} {share:.1%}</td>'
        )
    return f"<tr>{''.join(cells)}</tr>"


def table(record: NextTokenPredictions) -> list[str]:
    """A line a place: what came, with its probability, rank and surprisal; what was expected."""
    rows, top = record.rows, len(record.rows[0].expected)
    names = [[readable(name) for name, _ in row.expected] for row in rows]
    width = max(5, *(len(readable(row.token or "")) for row in rows)) + 1
    wide = max(len(name) for line in names for name in line)
    ranks = "".join(f"  {place + 1:<{wide + 6}}" for place in range(top))
    lines = [f"{'came':<{width}}{'probability':>11}{'rank':>7}{'bits':>8}{ranks}".rstrip()]
    for row, line in zip(rows, names, strict=True):
        expected = "".join(
            f"  {name:<{wide}} {share:5.1%}"
            for name, (_, share) in zip(line, row.expected, strict=True)
        )
        facts = f"{'?':<{width}}{'':>26}"
        if row.token is not None:
            facts = (
                f"{readable(row.token):<{width}}{row.probability:>11.2%}{row.rank:>7,}"
                f"{row.surprisal:>8.2f}"
            )
        lines.append(facts + expected)
    mean = record.mean_surprisal
    if mean is not None:
        lines.append(f"{mean:.3f} bits a token on average: perplexity {2**mean:.2f}")
    return lines
