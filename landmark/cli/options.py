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
JsonSwitch = Annotated[bool | None, typer.Option("--json", help="Print JSON.")]
LengthPenalty = Annotated[
    float | None, typer.Option(min=0.0, help="0 prefers short translations, more longer ones.")
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(help="Another run of the same vocabulary to average with; repeatable."),
]
To = Annotated[
    str | None, typer.Option(help="The language to translate into, for a run of several.")
]
Engine = Annotated[
    str, typer.Option(help="torch, or an export: ctranslate2, ctranslate2-int8, onnx.")
]
