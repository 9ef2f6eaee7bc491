"""`landmark figure next`: what a language model would say next at each place of a text."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.plots.prediction import Row

LONGEST = 128  # tokens across a picture


def following(
    run: RunFolder,
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    top: Annotated[int, typer.Option(min=1, max=50, help="How many of the likeliest.")] = 5,
    output: Annotated[
        Path | None, typer.Option(help="A figure too: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Print what a model would say next at each place of a text, and how it took what came."""
    from landmark.plots.figure import check_figure

    if output is not None:
        check_figure(output, as_page=True)
    opening, rows = _predict(run, text, top, checkpoint, device)
    if output is not None:
        _save(opening, rows, f"{run.name or run}: what comes next", output)
    came = [row.surprisal for row in rows if row.surprisal is not None]
    mean = sum(came) / len(came) if came else None
    if as_json:
        figure = None if output is None else str(output)
        places = [row._asdict() for row in rows]
        print_json(figure=figure, opening=opening, mean_surprisal=mean, places=places)
        return
    _show(rows, top)
    if mean is not None:
        print(f"{mean:.3f} bits a token on average: perplexity {2**mean:.2f}")
    if output is not None:
        print(output)


def _predict(
    run: Path, text: str, top: int, checkpoint: str | None, device: str
) -> "tuple[str, list[Row]]":
    """The text's beginning that nothing is expected of, and a row for each place after it."""
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.reader import open_reader
    from landmark.plots.prediction import Row
    from landmark.probes.prediction import predict_next

    reader = open_reader(run, checkpoint, device)
    if reader.architecture == "bert":
        raise UserError(f"{run}: a BERT fills gaps, it says nothing next: see `landmark fill`")
    reading = reader.read(text)
    if top > len(reader.tokenizer):
        raise UserError(f"--top {top}: the vocabulary has {len(reader.tokenizer)} entries")
    rows = []
    for place, found in enumerate(predict_next(reader.network, reading.tokens, top)):
        if place + 1 < reading.opening:
            continue
        expected = [(reader.entry(number), share) for number, share in found.expected]
        came = found.arrival
        if came is None:
            rows.append(Row(None, None, None, None, expected))
        else:
            token = reading.pieces[place + 1]
            rows.append(Row(token, came.probability, came.rank, came.surprisal, expected))
    return "" if reading.opening else reading.pieces[0], rows


def _save(opening: str, rows: "Sequence[Row]", title: str, output: Path) -> None:
    from landmark.core.errors import UserError
    from landmark.plots.figure import is_page
    from landmark.plots.page.prediction import save_prediction_page
    from landmark.plots.prediction import save_predictions

    if is_page(output):
        save_prediction_page(opening, rows, title, output)
        return
    if len(rows) > LONGEST:
        raise UserError(
            f"the text has {len(rows):,} places: a picture shows {LONGEST} at the most: give a "
            "shorter one, or write a page (.html)"
        )
    save_predictions(rows, title, output)


def _show(rows: "Sequence[Row]", top: int) -> None:
    """A line a place: what came, with its probability, rank and surprisal; what was expected."""
    from landmark.plots.gate import readable

    names = [[readable(name) for name, _ in row.expected] for row in rows]
    width = max(5, *(len(readable(row.token or "")) for row in rows)) + 1
    wide = max(len(name) for line in names for name in line)
    ranks = "".join(f"  {place + 1:<{wide + 6}}" for place in range(top))
    print(f"{'came':<{width}}{'probability':>11}{'rank':>7}{'bits':>8}{ranks}".rstrip())
    for row, line in zip(rows, names, strict=True):
        expected = "".join(
            f"  {name:<{wide}} {share:5.1%}"
            for name, (_, share) in zip(line, row.expected, strict=True)
        )
        if row.token is None:
            facts = f"{'?':<{width}}{'':>26}"
        else:
            facts = (
                f"{readable(row.token):<{width}}{row.probability:>11.2%}{row.rank:>7,}"
                f"{row.surprisal:>8.2f}"
            )
        print(facts + expected)
