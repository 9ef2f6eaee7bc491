"""The options that several commands share."""

from typing import Annotated

import typer

from landmark.core.limits import THREADS

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonSwitch = Annotated[bool | None, typer.Option("--json", help="Print JSON.")]
"""The same where None means that it was not given."""

Threads = Annotated[
    int | None,
    typer.Option(min=1, max=THREADS, help="Number of CPU threads; default: one per core."),
]
