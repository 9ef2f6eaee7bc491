"""Options of the commands for Go networks."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import settings


@settings
class GoDataOptions:
    """Your own games to learn from."""

    data: Path | None = None
    """Your games: an SGF file, or a folder of them."""
    strict: bool = False
    """Stop at the first game that cannot be used."""

    def overrides(self) -> dict[str, Any]:
        given: dict[str, Any] = {"data.games": [str(self.data)]} if self.data else {}
        return given | ({"data.strict": True} if self.strict else {})


@settings
class EvaluateOptions:
    """Which positions to judge."""

    split: tuple[str, ...] = ()
    """Split of the run's own games: train, valid or test; default: test. Repeatable."""
    batch_size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 512
    """Batch size in positions."""
