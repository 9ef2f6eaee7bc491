"""The switch that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonSwitch = Annotated[bool | None, typer.Option("--json", help="Print JSON.")]
"""The same where None means that it was not given."""
