"""Options of `landmark race`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import Positional, settings


@settings
class RaceOptions:
    """Which problem is raced, by which optimisers, and for how long."""

    recipe: Annotated[str | None, Positional("RECIPE")] = None
    """race-logistic, race-mlp, … (`landmark list`), or any other recipe."""
    overrides: Annotated[tuple[str, ...], Positional("OVERRIDES")] = ()
    """Settings to override, as model.dropout=0.2."""
    problem: str | None = None
    """Your own problem, as my_module:factory. Runs this code, of the current folder first."""
    methods: str | None = None
    """Optimizers to compare, as adam,sgd; default: all of the race."""
    rates: str | None = None
    """Learning rates to try, as 1e-3,1e-2; default: four per optimizer."""
    seeds: Annotated[int, Field(ge=1, le=limits.SEEDS)] = 3
    """Number of training runs with different seeds at the best learning rate."""
    steps: Annotated[int | None, Field(ge=1)] = None
    """Training steps per run."""
    full: bool = False
    """Train as long as the paper."""
    run: Path | None = None
    """Output directory; default: races/RECIPE."""
    resume: bool = False
    """Continue an interrupted race; finished runs are not repeated."""
    jobs: Annotated[int | None, Field(ge=1, le=limits.WORKERS)] = None
    """Number of runs in parallel; default: one per core."""
    threads: Annotated[int, Field(ge=1, le=limits.THREADS)] = 1
    """CPU threads of each run; results are bit-identical only with the same number."""
