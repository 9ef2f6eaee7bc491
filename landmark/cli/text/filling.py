"""`landmark fill`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.tasks.masked_language_model.pipeline import FilledText


def fill(
    run: RunFolder,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help='Texts with blanks, as "The [MASK] sat on the mat"; none: lines of stdin.',
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[int, typer.Option(min=1, help="How many fillings to give.")] = 5,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Fill in the blanks of texts with a BERT: the likeliest words and their probabilities."""
    from landmark.tasks.loading import load

    pipeline = load(run, checkpoint, device, task="masked-language-model")
    for text in texts or read_input(None):
        found = pipeline.fill(text, top_k)
        print(json.dumps(asdict(found), ensure_ascii=False) if as_json else _table(found))


def _table(found: "FilledText") -> str:
    """One line a filling; of several blanks, first each on its own."""
    lines = [found.text]
    if len(found.blanks) > 1:
        for number, guesses in enumerate(found.blanks, 1):
            lines += [f"  blank {number}  {g.probability:.3g}  {g.token}" for g in guesses]
    lines += [f"  {f.probability:.3g}  {' '.join(f.tokens)}  {f.text}" for f in found.fillings]
    return "\n".join(lines)


def read_input(file: Path | None) -> list[str]:
    """The lines of a file; without one, of stdin."""
    from landmark.core.errors import UserError
    from landmark.data.text_file import read_lines

    if file is not None and str(file) != "-":
        return list(read_lines(file))
    if sys.stdin is None:  # the caller closed it
        return []
    lines = []
    for number, line in enumerate(sys.stdin.buffer.read().split(b"\n"), 1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r"))
        except UnicodeDecodeError:
            raise UserError(f"stdin:{number}: not valid UTF-8") from None
    return lines[:-1] if lines[-1] == "" else lines
