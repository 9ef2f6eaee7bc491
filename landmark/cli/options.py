"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(help="The run directory.")]
Checkpoint = Annotated[
    str | None, typer.Option(help="averaged, best, latest or a step; default: the first there is.")
]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, …; auto takes an accelerator if there is one.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses to keep; 1 is greedy.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
