"""Options of `landmark race`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import Positional, settings


@settings
class RaceOptions:
    """Which problem is raced, by which optimisers, and for how long."""

    recipe: Annotated[str | None, Positional("RECIPE")] = None
    """race-logistic, race-mlp, … (`landmark list`), or any."""
    overrides: Annotated[tuple[str, ...], Positional("OVERRIDES")] = ()
    """Settings to change, as model.dropout=0.2."""
    problem: str | None = None
    """Your own problem, as my_module:factory; see docs/race.md."""
    methods: str | None = None
    """Only these, as adam,sgd; default: all of the race."""
    rates: str | None = None
    """Try these, as 1e-3,1e-2; default: four a method."""
    seeds: Annotated[int, Field(ge=1)] = 3
    """Trainings at the chosen rate."""
    steps: Annotated[int | None, Field(ge=1)] = None
    """Updates of a training."""
    full: bool = False
    """As long as the paper's."""
    run: Path | None = None
    """Where the race goes; by default races/RECIPE."""
    resume: bool = False
    """Go on; what has finished is not repeated."""
    jobs: Annotated[int | None, Field(ge=1)] = None
    """Trainings side by side; default: one a core."""
    threads: Annotated[int, Field(ge=1)] = 1
    """CPU threads of each training; figures are bit-equal only at the same number."""
