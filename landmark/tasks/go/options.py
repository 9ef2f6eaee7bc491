"""Options of the commands for Go networks."""

from pathlib import Path
from typing import Any

from landmark.core.configuration import settings


@settings
class GoDataOptions:
    """Your own games to learn from."""

    games: Path | None = None
    """Your games: an SGF file, or a folder of them."""

    def overrides(self) -> dict[str, Any]:
        return {"data.games": [str(self.games)]} if self.games else {}


@settings
class EvaluateOptions:
    """Which positions to judge."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
