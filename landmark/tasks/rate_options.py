"""Options of `landmark rate-finder`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import Positional, settings


@settings
class RateFinderOptions:
    """Which recipe, which rates to try, and in how many updates."""

    recipe: Annotated[str, Positional("RECIPE")]
    """A recipe's name (`landmark list`) or a YAML file."""
    overrides: Annotated[tuple[str, ...], Positional("OVERRIDES")] = ()
    """Settings to change, as model.dropout=0.2."""
    lowest: Annotated[float, Field(gt=0)] = 1e-6
    """The learning rate to begin with."""
    highest: Annotated[float, Field(gt=0)] = 10.0
    """The learning rate to end with, unless the loss diverges before."""
    updates: Annotated[int, Field(ge=20)] = 100
    """Updates in all, each with a higher rate."""
    figure: Path | None = None
    """Draw the loss against the learning rate to this file."""
