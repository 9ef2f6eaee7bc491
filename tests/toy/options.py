"""Options of the corridor's commands."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from landmark.core.configuration import settings
from landmark.tasks.card import ExportOptions


@settings
class DataOptions:
    """Where games are played."""

    start: float | None = None
    """The place where the first game begins."""

    def overrides(self) -> dict[str, Any]:
        return {} if self.start is None else {"data.start": self.start}


@settings
class EvaluateOptions:
    """How many games are played."""

    games: Annotated[int, Field(ge=1)] = 3
    """Games to play."""


@settings
class WalkOptions:
    """How far a walk goes."""

    length: Annotated[int, Field(ge=1)] = 4
    """Steps of a walk."""
    wind: float = 0.0
    """What every step is pushed by."""


@settings
class RulesOptions:
    """What to print."""

    shout: bool = False
    """In capitals."""


@settings
class PolicyOptions(ExportOptions):
    """How fine the table is."""

    rows: Annotated[int, Field(ge=2)] = 5
    """Rows of the table."""


@settings
class FigureOptions:
    """What the figure is of."""

    run: Path
    """A run of the corridor."""
    output: Path = Path("corridor.png")
    """The figure."""
