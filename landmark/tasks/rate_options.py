"""Options of `landmark rate-finder`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import Positional, settings


@settings
class RateFinderOptions:
    """Which recipe, which rates to try, and in how many updates."""

    recipe: Annotated[str, Positional("RECIPE")]
    """Recipe name (`landmark list`) or YAML file."""
    overrides: Annotated[tuple[str, ...], Positional("OVERRIDES")] = ()
    """Settings to override, as model.dropout=0.2."""
    lowest: Annotated[float, Field(gt=0)] = 1e-6
    """First learning rate."""
    highest: Annotated[float, Field(gt=0)] = 10.0
    """Last learning rate; the test ends earlier if the loss diverges."""
    updates: Annotated[int, Field(ge=20, le=limits.LENGTH)] = 100
    """Number of updates; the learning rate rises with each."""
    figure: Path | None = None
    """Plot the loss against the learning rate to this file."""
